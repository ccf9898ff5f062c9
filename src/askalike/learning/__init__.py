"""Models of an archive: their folder, distillation in closed form, and the seam of packages that train."""

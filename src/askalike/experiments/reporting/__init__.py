"""The parts of reports that people look at: figures, tables, query cards, and the page that holds them."""

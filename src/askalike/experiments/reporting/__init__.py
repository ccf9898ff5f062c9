"""The visible parts of reports: figures, tables, query cards, and the page that contains them."""

"""The preview of a pull request for every audience: one document, and what writes it as Markdown, text and a page; and JSON."""

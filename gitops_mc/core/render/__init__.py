"""Values of the core as text, JSON, Markdown and YAML. Pure: the same value gives the same bytes, wherever it is rendered."""

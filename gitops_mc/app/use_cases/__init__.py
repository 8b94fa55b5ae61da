"""What the command line and the controller do with the core: gather, decide, hand back values. Nothing here prints."""

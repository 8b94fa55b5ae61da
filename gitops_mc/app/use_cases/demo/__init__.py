"""The demonstration: a story in commits, played by the real engine on whatever fleet the stage has."""

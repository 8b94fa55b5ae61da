"""Connects ports to adapters. Nothing else does."""

"""What a pull request does to a fleet: the preview, as a value, and how it is made of two trees and the live state."""

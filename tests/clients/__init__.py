"""These modules use Causeline and API servers as people and programs do, and read what they show."""

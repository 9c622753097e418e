"""What takes the place of other libraries."""

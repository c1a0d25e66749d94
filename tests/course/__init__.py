"""The course's tests: what they share stands in `helpers`."""

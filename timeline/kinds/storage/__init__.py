"""PersistentVolumes and their attachments to nodes."""

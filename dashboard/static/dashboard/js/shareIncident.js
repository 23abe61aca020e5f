// This module runs on the page of an incident for people who may share it.

import { shareDialog } from "./ui/shareDialog.js";

shareDialog({ search: () => "", announce: () => {} });

// This module lets an embedded timeline begin with the view that was shared, unless its address says what to show.

import { OWN } from "../state/address.js";

const { query } = document.body.dataset;
const asked = new URLSearchParams(location.search);
if (query && [...asked.keys()].every((name) => OWN.includes(name))) history.replaceState(null, "", `${location.search}&${query}`);

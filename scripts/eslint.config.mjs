// The recommended rules of ESLint, for the scripts of the page; scripts/check names its packages, which npx fetches.

import {realpathSync} from "node:fs";
import {createRequire} from "node:module";

const fetched = createRequire(realpathSync(process.argv[1]));
const globals = fetched("globals");

export default [
  fetched("@eslint/js").configs.recommended,
  {languageOptions: {globals: globals.browser}, linterOptions: {reportUnusedDisableDirectives: "error"}},
  {files: ["**/*.mjs"], languageOptions: {globals: globals.node}},
];

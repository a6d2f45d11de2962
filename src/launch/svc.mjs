#!/usr/bin/env node
// The `svc` executable: starts the service's entry, compiled where the package is installed, from source in a clone.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { isNewEnough } from './pick.mjs'
import { runNode } from './node.mjs'

const compiled = new URL('../main.js', import.meta.url)
const entry = existsSync(compiled) ? compiled : new URL('../main.ts', import.meta.url)

if (isNewEnough(process.versions.node)) await import(entry.href)
else runNode([fileURLToPath(entry), ...process.argv.slice(2)])

#!/usr/bin/env node
// The `svc` executable. It starts the service: the compiled entry of an installed package, or the source of a clone.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { whenAbandoned } from './above.mjs'
import { runNode } from './node.mjs'
import { COMPILE_CACHE, isNewEnough, missingPackages } from './pick.mjs'

const compiled = new URL('../main.js', import.meta.url)
const isClone = !existsSync(compiled)
const entry = isClone ? new URL('../main.ts', import.meta.url) : compiled

const missing = isClone ? missingPackages(new URL('../../package.json', import.meta.url)) : null
if (missing !== null) {
  console.error(`svc: ${missing}`)
  process.exit(1)
}
if (isNewEnough(process.versions.node)) {
  whenAbandoned(() => process.kill(process.pid, 'SIGTERM'))
  const { enableCompileCache } = await import('node:module')
  enableCompileCache(process.env.NODE_COMPILE_CACHE ?? COMPILE_CACHE)
  await import(entry.href)
} else runNode([fileURLToPath(entry), ...process.argv.slice(2)])

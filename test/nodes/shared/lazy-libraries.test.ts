// Libraries that are loaded before a node runs, and values that are made once.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { createLazyGetter } from '../../../src/nodes/shared/lazy-libraries.ts'

const REGISTRY = new URL('../../../src/nodes/registry.ts', import.meta.url).href
const SERVICES = new URL('../../../src/composition/node-services.ts', import.meta.url).href

/** The packages and Node modules that a process has loaded after it imported these modules. */
async function readBy(...modules: string[]): Promise<{ packages: string[]; builtins: string[] }> {
  const code = `
    import { registerHooks } from 'node:module'
    const packages = new Set()
    registerHooks({ load(url, context, next) {
      const [, name] = /\\/node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? []
      if (name) packages.add(name)
      return next(url, context)
    } })
    for (const module of ${JSON.stringify(modules)}) await import(module)
    console.log(JSON.stringify({ packages: [...packages], builtins: process.moduleLoadList }))`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', code])
  return JSON.parse(stdout)
}

describe('a start', () => {
  test('reads the node types without any library, and without the larger modules of Node', async () => {
    const { packages, builtins } = await readBy(REGISTRY)
    assert.deepEqual(packages, [])
    for (const name of ['crypto', 'http', 'zlib']) assert.ok(!builtins.includes(`NativeModule ${name}`), name)
  })

  test('gives nodes the sandbox and the network without loading their libraries', async () => {
    const { packages, builtins } = await readBy(REGISTRY, SERVICES)
    assert.deepEqual(packages, ['ipaddr.js'])
    assert.ok(!builtins.includes('NativeModule internal/deps/undici/undici'))
  })
})

test('a lazy value is made once, and again if that failed', () => {
  let asked = 0
  const made = createLazyGetter(() => {
    asked++
    if (asked === 1) throw new Error('not yet')
    return { asked }
  })
  assert.equal(asked, 0)
  assert.throws(made, /not yet/)
  assert.equal(made(), made())
  assert.equal(asked, 2)
})

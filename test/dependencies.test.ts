// Every dependency is a decision: the record of dependencies has a line for it, with its actual licence.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'

const read = (path: string) => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

interface Manifest {
  license?: string
  /** The older form of the field. */
  licenses?: { type: string }[]
  dependencies: Record<string, string>
  devDependencies: Record<string, string>
}

const manifest = (path: string) => JSON.parse(read(path)) as Manifest

/** The cells of each line under one heading: package, purpose, licence, size, and the alternative. */
function rows(heading: string): string[][] {
  const part = read('spec/decisions/0003-dependencies.md').split(`\n## ${heading}\n`)[1]!.split('\n## ')[0]!
  const lines = part.split('\n').filter((line) => line.startsWith('| '))
  return lines.slice(1).map((line) => line.slice(2, -2).split(' | '))
}

const parts = [
  ['At run time', 'dependencies'],
  ['For development alone', 'devDependencies'],
] as const

describe('the record of dependencies', () => {
  for (const [heading, key] of parts) {
    test(`names each of ${key} once, and nothing else`, () => {
      const recorded = rows(heading).map(([name]) => name)
      assert.deepEqual(recorded.toSorted(), Object.keys(manifest('package.json')[key]).toSorted())
    })

    test(`says of each of ${key} what it is for, how large it is, and its licence`, () => {
      for (const [name, purpose, licence, size, without, ...more] of rows(heading)) {
        const { license, licenses } = manifest(`node_modules/${name}/package.json`)
        assert.equal(licence, license ?? licenses?.map(({ type }) => type).join(' OR '), name)
        assert.match(size!, /^[\d.]+ [kM]B$/, name)
        assert.ok(purpose && without && more.length === 0, name)
      }
    })
  }
})

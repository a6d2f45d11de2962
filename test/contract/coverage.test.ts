// The gate: whatever the contract calls implemented, and every error that is thrown, is named by a test.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { errorCatalogue } from '../../generated/errors.ts'
import { commandManifest, frameManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'

const ROOT = join(import.meta.dirname, '../..')

function texts(folder: string, accept: (path: string) => boolean): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && accept(path))
    .map((path) => readFileSync(join(ROOT, folder, path), 'utf8'))
}

/** Every word of the tests. Words are what may stand in a name: `run_job`, `getHealth`, `QUEUE_FULL`. */
const words = new Set(
  texts('test', (path) => path !== join('contract', 'coverage.test.ts')).flatMap((text) => text.match(/\w+/g) ?? []),
)

const thrown = new Set(
  texts('src', (path) => !path.startsWith('codegen')).flatMap((text) =>
    [...text.matchAll(/ServiceError\(\s*'([A-Z_]+)'/g)].map((match) => match[1]!),
  ),
)

function implemented<Item extends { implementation: string }>(items: readonly Item[]): Item[] {
  return items.filter(({ implementation }) => implementation === 'implemented')
}

/** The reply of an RPC is named by its command: nothing else answers it. */
function replyOf(message: string): string {
  return message.replace(/_response$/, '')
}

function unnamed(names: readonly string[]): string[] {
  return names.filter((name) => !words.has(name))
}

describe('a test names', () => {
  test('every implemented operation', () => {
    const names = implemented(operationManifest).map(({ operationId }) => operationId)
    assert.ok(names.length >= 20)
    assert.deepEqual(unnamed(names), [])
  })

  for (const [channel, commands] of Object.entries(commandManifest)) {
    test(`every implemented command of ${channel}`, () => {
      assert.deepEqual(unnamed(implemented(Object.values(commands)).map(({ command }) => command)), [])
    })
  }

  for (const [channel, frames] of Object.entries(frameManifest)) {
    test(`every implemented frame of ${channel}`, () => {
      assert.deepEqual(unnamed(implemented(Object.values(frames)).map(({ message }) => replyOf(message))), [])
    })
  }

  test('every error that is thrown, and each of them is in the catalogue', () => {
    assert.ok(thrown.size >= 10)
    assert.deepEqual(
      [...thrown].filter((code) => !(code in errorCatalogue)),
      [],
    )
    assert.deepEqual(unnamed([...thrown]), [])
  })
})

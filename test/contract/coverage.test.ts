// The gate: whatever the contract calls implemented, and every error that is thrown, is named by a test.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { type ErrorCode, errorCatalogue } from '../../generated/errors.ts'
import { commandManifest, frameManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import { restoreExactSchemas } from '../../src/contract/exact-schemas.ts'
import type { JsonMap } from '../../src/contract/json.ts'

const ROOT = join(import.meta.dirname, '../..')

function texts(folder: string, accept: (path: string) => boolean): string[] {
  return readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && accept(path))
    .map((path) => readFileSync(join(ROOT, folder, path), 'utf8'))
}

/** What names things without trying them: this file, and the server that the tests have written for themselves. */
const NO_TESTS = [join('contract', 'coverage.test.ts'), join('conformance', 'server', 'minimal-server')]

/** Every word of the tests. Words are what may stand in a name: `run_job`, `getHealth`, `QUEUE_FULL`. */
const words = new Set(
  texts('test', (path) => !NO_TESTS.some((one) => path.startsWith(one))).flatMap((text) => text.match(/\w+/g) ?? []),
)

/** Codes that the server's own code names, whichever way they are answered. */
const answered = new Set(
  texts('src', (path) => !/^(codegen|client|conformance)\b/.test(path)).flatMap(
    (text) => text.match(/(?<=')[A-Z][A-Z_]+(?=')/g) ?? [],
  ),
)

const thrown = new Set(
  texts('src', (path) => !path.startsWith('codegen')).flatMap((text) =>
    [...text.matchAll(/ServiceError\(\s*'([A-Z_]+)'/g)].map((match) => match[1]!),
  ),
)

/** What is served, with the preview as well. */
function implemented<Item extends { implementation: string; preview?: boolean }>(items: readonly Item[]): Item[] {
  return items.filter(({ implementation, preview }) => implementation === 'implemented' || preview === true)
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

  test('every type of event, and every status that events tell', () => {
    const published = JSON.parse(readFileSync(join(ROOT, 'generated/openapi.json'), 'utf8')) as JsonMap
    const { schemas } = (restoreExactSchemas(published) as unknown as Documented).components
    const types = (schemas.JobEvent?.oneOf ?? []).flatMap(({ $ref }) => constants(schemas, $ref, 'type'))
    assert.deepEqual([...new Set(types)].sort(), ['job_status', 'job_terminal', 'node_status', 'output_update'])
    const statuses = [...(schemas.JobStatus?.enum ?? []), ...constants(schemas, '#/NodeStatusEvent', 'status')]
    assert.ok(statuses.length >= 14)
    assert.deepEqual(unnamed([...types, ...statuses]), [])
  })

  test('every code of the catalogue that the server answers with', () => {
    const codes = Object.keys(errorCatalogue).filter((code) => answered.has(code))
    assert.ok(codes.length >= 20)
    assert.deepEqual(
      codes.filter((code) => !words.has(code) && !words.has(errorCatalogue[code as ErrorCode].type)),
      [],
    )
  })

  test('every error that is thrown, and each of them is in the catalogue', () => {
    assert.ok(thrown.size >= 10)
    assert.deepEqual(
      [...thrown].filter((code) => !(code in errorCatalogue)),
      [],
    )
    assert.deepEqual(unnamed([...thrown]), [])
  })
})

interface Schema {
  $ref?: string
  const?: string
  enum?: string[]
  oneOf?: Schema[]
  anyOf?: Schema[]
  allOf?: Schema[]
  properties?: Record<string, Schema>
}

interface Documented {
  components: { schemas: Record<string, Schema> }
}

/** The texts that a schema and its variants fix for a property. */
function constants(schemas: Record<string, Schema>, reference: string | undefined, property: string): string[] {
  const schema = schemas[reference?.slice(reference.lastIndexOf('/') + 1) ?? ''] ?? {}
  const own = (one: Schema): string[] => {
    const { const: fixed, enum: several = [] } = one.properties?.[property] ?? {}
    const parts = [...(one.allOf ?? []), ...(one.oneOf ?? []), ...(one.anyOf ?? [])]
    const inner = parts.flatMap((part) => (part.$ref ? constants(schemas, part.$ref, property) : own(part)))
    return [...(fixed === undefined ? [] : [fixed]), ...several, ...inner]
  }
  return own(schema)
}

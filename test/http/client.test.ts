// A client made only from the published document: types by openapi-typescript, calls by openapi-fetch.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import createClient from 'openapi-fetch'
import openapiTS, { astToString } from 'openapi-typescript'
import ts from 'typescript'
import type { paths } from '../../generated/types.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import { greeting } from './kit.ts'

const MODULES = resolve(import.meta.dirname, '../../node_modules')

const CONSUMER = `
import createClient from 'openapi-fetch'
import type { paths } from './contract.ts'

export async function greet(baseUrl: string, name: string): Promise<string> {
  const client = createClient<paths>({ baseUrl })
  const listed = await client.GET('/api/workflows', { params: { query: { limit: 10, tag: 'text' } } })
  const names: string[] = (listed.data ?? []).map((workflow) => workflow.name)
  const created = await client.POST('/api/workflows', { body: { name: names[0] ?? 'First', graph: { nodes: [], edges: [] } } })
  if (!created.data) throw new Error(JSON.stringify(created.error))
  const run = await client.POST('/api/workflows/{id}/run', {
    params: { path: { id: created.data.id } },
    body: { params: { name } },
  })
  const status: 'completed' | 'failed' | 'cancelled' | 'suspended' | 'accepted' | 'queued' | undefined = run.data?.status
  return String(run.data?.outputs.greeting ?? status)
}
`

const MISTAKES: [string, string][] = [
  ['an unknown path', "await client.GET('/api/nowhere', {})"],
  ['a method that the path does not take', "await client.DELETE('/api/workflows', {})"],
  ['a missing path parameter', "await client.GET('/api/workflows/{id}', {})"],
  ['an unknown query parameter', "await client.GET('/api/workflows', { params: { query: { page: 1 } } })"],
  ['a body without its graph', "await client.POST('/api/workflows', { body: { name: 'x' } })"],
  [
    'an unknown property',
    "await client.POST('/api/workflows/{id}/run', { params: { path: { id: 'x' } }, body: { background: 'yes' } })",
  ],
]

const WRONG_CONSUMER = `
import createClient from 'openapi-fetch'
import type { paths } from './contract.ts'

const client = createClient<paths>({ baseUrl: '' })
${MISTAKES.map(([, line]) => line).join('\n')}
`

interface Complaint {
  line: string
  message: string
}

/** The errors of the type checker for a source with the generated types. */
function complaints(folder: string, source: string): Complaint[] {
  const file = join(folder, 'consumer.ts')
  writeFileSync(file, source)
  const program = ts.createProgram([file], {
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    lib: ['lib.es2023.d.ts', 'lib.dom.d.ts'],
    types: [],
  })
  return ts.getPreEmitDiagnostics(program).map(({ file: at, start, messageText }) => ({
    line: at ? (at.text.split('\n')[at.getLineAndCharacterOfPosition(start ?? 0).line] ?? '').trim() : '',
    message: ts.flattenDiagnosticMessageText(messageText, '\n'),
  }))
}

describe('a client that is generated from the published document', () => {
  test('compiles correct code, and no other', async () => {
    await using server = await startServer()
    const folder = temporaryFolder()
    try {
      const document = await (await fetch(`${server.url}/openapi.json`)).json()
      mkdirSync(join(folder, 'client'))
      writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
      symlinkSync(MODULES, join(folder, 'node_modules'), 'dir')
      writeFileSync(join(folder, 'client', 'contract.ts'), astToString(await openapiTS(document as never)))
      assert.deepEqual(complaints(join(folder, 'client'), CONSUMER), [])
      const found = complaints(join(folder, 'client'), WRONG_CONSUMER).map(({ line }) => line)
      for (const [what, line] of MISTAKES) assert.ok(found.includes(line), `${what} compiles`)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('lists, creates and runs a workflow', async () => {
    await using server = await startServer()
    const client = createClient<paths>({ baseUrl: server.url })
    const empty = await client.GET('/api/workflows')
    assert.deepEqual(empty.data, [])
    const created = await client.POST('/api/workflows', { body: greeting() })
    assert.equal(created.response.status, 201)
    const listed = await client.GET('/api/workflows', { params: { query: { limit: 5, q: 'greet' } } })
    assert.deepEqual(
      listed.data?.map(({ id }) => id),
      [created.data!.id],
    )
    const params = { path: { id: created.data!.id } }
    const run = await client.POST('/api/workflows/{id}/run', { params, body: { params: { name: 'Ada' } } })
    assert.deepEqual([run.data?.status, run.data?.outputs], ['completed', { greeting: 'Hello, Ada!' }])
    const refused = await client.POST('/api/workflows/{id}/run', { params, body: { params: { nobody: 1 } } })
    assert.equal(refused.response.status, 422)
    assert.equal(refused.data, undefined)
    assert.equal((refused.error as { error: { type: string } }).error.type, 'invalid_parameters')
  })
})

// A contract of one operation and one command, whole and without faults, for tests that break it in one place.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { config } from '../../codegen.config.ts'
import { readContract } from '../../src/codegen/documents/contract.ts'
import { formatProblem } from '../../src/codegen/documents/contract-problems.ts'

const FILES: Readonly<Record<string, string>> = {
  'openapi.yaml': `
openapi: 3.1.0
info: { title: Small, version: 0.0.1, license: { name: MIT, identifier: MIT } }
servers: [{ url: 'http://127.0.0.1:7777' }]
security: [{ bearer: [] }]
tags: [{ name: things, description: Things. }]
paths:
  /things/{id}: { $ref: 'paths/things.yaml#/~1things~1{id}' }
components:
  securitySchemes: { bearer: { type: http, scheme: bearer } }
  responses:
    NotFound:
      description: There is none.
      content: { application/json: { schema: { $ref: 'schemas/thing.yaml#/ApiError' } } }
    Unused: { description: Nobody refers to it. }
`,
  'paths/things.yaml': `
/things/{id}:
  parameters:
    - { name: id, in: path, required: true, schema: { type: string } }
  get:
    operationId: getThing
    tags: [things]
    summary: Read a thing
    description: Reads it.
    x-svc-implementation: planned
    parameters:
      - { name: depth, in: query, schema: { type: integer } }
    responses:
      '200':
        description: The thing.
        content: { application/json: { schema: { $ref: '../schemas/thing.yaml#/Thing' } } }
      '404': { $ref: '../openapi.yaml#/components/responses/NotFound' }
`,
  'asyncapi.yaml': `
asyncapi: 3.0.0
info: { title: Small sockets, version: 0.0.1 }
channels:
  ws: { $ref: 'channels/ws.yaml#/channel' }
operations:
  poke: { $ref: 'channels/ws.yaml#/operations/poke' }
components: {}
`,
  'channels/ws.yaml': `
channel:
  address: /ws
  messages:
    poke: { $ref: '#/messages/poke' }
    thing_moved: { $ref: '#/messages/thing_moved' }
operations:
  poke:
    action: receive
    channel: { $ref: '#/channel' }
    summary: Poke a thing
    description: It moves.
    tags: [{ name: things }]
    messages: [{ $ref: '#/messages/poke' }]
    reply:
      channel: { $ref: '../asyncapi.yaml#/channels/ws' }
      messages: [{ $ref: '../asyncapi.yaml#/channels/ws/messages/thing_moved' }]
    x-svc-implementation: planned
messages:
  poke:
    name: poke
    title: Poke
    tags: [{ name: things }]
    payload: { $ref: '../schemas/socket.yaml#/PokeCommand' }
    x-svc-implementation: planned
    x-svc-kind: rpc
    x-svc-request-id: required
    x-svc-result: { $ref: '../schemas/thing.yaml#/Thing' }
  thing_moved:
    name: thing_moved
    title: A thing has moved
    tags: [{ name: things }]
    payload: { $ref: '../schemas/socket.yaml#/ThingMoved' }
    x-svc-implementation: planned
`,
  'schemas/thing.yaml': `
Thing:
  description: A thing.
  type: object
  required: [id, parent]
  properties:
    id: { $ref: '#/ThingId' }
    parent:
      oneOf:
        - { $ref: '#/Thing' }
        - { type: 'null' }
ThingId:
  description: A name.
  type: string
  minLength: 1
  pattern: '^[a-z]$'
ApiError:
  description: An error.
  type: object
  required: [error]
  properties: { error: { type: string } }
`,
  'schemas/socket.yaml': `
PokeCommand:
  description: Poke.
  type: object
  required: [command]
  additionalProperties: false
  properties:
    command: { type: string, const: poke }
    data: { $ref: 'thing.yaml#/ThingId' }
ThingMoved:
  description: It has moved.
  type: object
  required: [type]
  properties: { type: { type: string, const: thing_moved } }
`,
  'errors.yaml': `
NOT_FOUND: { status: 404, type: not_found, retryable: false, message: Not found. }
`,
  'patterns.yaml': `
'^[a-z]$': must be a small letter
`,
  'examples/Thing/one.json': '{ "id": "a", "parent": { "id": "b", "parent": null } }',
  'examples/ApiError/one.json': '{ "error": "Not found." }',
  'examples/PokeCommand/one.json': '{ "command": "poke", "data": "a" }',
  'examples/ThingMoved/one.json': '{ "type": "thing_moved" }',
}

/** One change: a file, what stands there, and what shall stand there instead. Without the last two the file is removed. */
export type Change = readonly [file: string, from?: string, to?: string]

/** Reads the small contract with the changes made; the folder is gone afterwards. */
export function readSmallContract(...changes: readonly Change[]) {
  const root = mkdtempSync(join(tmpdir(), 'svc-contract-'))
  try {
    const pages = Object.values(config.publication.pages).map((file) => [file, 'A page.'])
    const files = Object.entries(changed(changes)).map(([file, text]) => [join(config.spec, file), text])
    for (const [file, text] of [...pages, ...files] as [string, string][]) {
      const path = join(root, file)
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    const { contract, problems } = readContract(root, config)
    return { contract, problems: problems.map(formatProblem) }
  } finally {
    rmSync(root, { recursive: true })
  }
}

function changed(changes: readonly Change[]): Record<string, string> {
  const files = { ...FILES }
  for (const [file, from, to] of changes) {
    if (from === undefined || to === undefined) {
      delete files[file]
      continue
    }
    const text = files[file] ?? ''
    if (!text.includes(from)) throw new Error(`${file} does not hold ${from}`)
    files[file] = text.replace(from, to)
  }
  return files
}

// The bundler and the contract's own rules, on a small contract that is broken in one place at a time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { followPointer, mapOf } from '../../src/codegen/documents/json-pointer.ts'
import { type Change, readSmallContract } from './small-contract.ts'

describe('a contract without faults', () => {
  const { contract, problems } = readSmallContract()

  test('has no problems', () => {
    assert.deepEqual(problems, [])
  })

  test('has its paths and replies in place, and schemas as components', () => {
    const operation = followPointer(contract.openapi, '/paths/~1things~1{id}/get')
    assert.equal(mapOf(operation).operationId, 'getThing')
    assert.deepEqual(followPointer(operation, '/responses/404'), { $ref: '#/components/responses/NotFound' })
    assert.deepEqual(followPointer(operation, '/responses/200/content/application~1json/schema'), {
      $ref: '#/components/schemas/Thing',
    })
    assert.deepEqual(followPointer(contract.openapi, '/components/schemas/Thing/properties/parent/oneOf/0'), {
      $ref: '#/components/schemas/Thing',
    })
  })

  test('has only the schemas that each document reaches, sorted, and only used replies', () => {
    const schemas = (document: typeof contract.openapi) =>
      Object.keys(mapOf(followPointer(document, '/components/schemas')))
    assert.deepEqual(schemas(contract.openapi), ['ApiError', 'Thing', 'ThingId'])
    assert.deepEqual(schemas(contract.asyncapi), ['PokeCommand', 'Thing', 'ThingId', 'ThingMoved'])
    assert.deepEqual(Object.keys(contract.schemas), ['ApiError', 'PokeCommand', 'Thing', 'ThingId', 'ThingMoved'])
    assert.deepEqual(Object.keys(mapOf(followPointer(contract.openapi, '/components/responses'))), ['NotFound'])
  })

  test('keeps references to channels and messages as references', () => {
    const poke = followPointer(contract.asyncapi, '/operations/poke')
    assert.deepEqual(followPointer(poke, '/channel'), { $ref: '#/channels/ws' })
    assert.deepEqual(followPointer(poke, '/messages/0'), { $ref: '#/channels/ws/messages/poke' })
    assert.deepEqual(followPointer(poke, '/reply/messages/0'), { $ref: '#/channels/ws/messages/thing_moved' })
    assert.equal(followPointer(contract.asyncapi, '/channels/ws/messages/poke/name'), 'poke')
  })

  test('has the instances of schemas as examples', () => {
    const media = followPointer(contract.openapi, '/paths/~1things~1{id}/get/responses/200/content/application~1json')
    assert.deepEqual(followPointer(media, '/examples/one/value/id'), 'a')
    assert.deepEqual(followPointer(contract.asyncapi, '/channels/ws/messages/poke/examples'), [
      { name: 'one', payload: { command: 'poke', data: 'a' } },
    ])
  })

  test('has a hash that changes with any file', () => {
    const hash = (...changes: Change[]) => readSmallContract(...changes).contract.hash
    assert.equal(hash(), contract.hash)
    assert.notEqual(hash(['schemas/thing.yaml', 'A name.', 'A text.']), contract.hash)
    assert.notEqual(hash(['examples/Thing/one.json', '"a"', '"c"']), contract.hash)
  })

  test('keeps an example that an operation writes itself, and data that looks like a reference', () => {
    const to = `examples: { own: { value: { id: c, parent: null, $ref: nowhere } } }, schema: { $ref: '../schemas/thing.yaml#/Thing'`
    const { contract, problems } = readSmallContract([
      'paths/things.yaml',
      `schema: { $ref: '../schemas/thing.yaml#/Thing'`,
      to,
    ])
    assert.deepEqual(problems, [])
    const media = followPointer(contract.openapi, '/paths/~1things~1{id}/get/responses/200/content/application~1json')
    assert.deepEqual(mapOf(media).examples, { own: { value: { id: 'c', parent: null, $ref: 'nowhere' } } })
  })
})

const PATHS = 'paths/things.yaml'
const WS = 'channels/ws.yaml'
const THING = 'schemas/thing.yaml'
const OPERATION = 'openapi.json#/paths/~1things~1{id}/get: '
const COMMAND = 'asyncapi.json#/channels/ws/messages/poke: '

/** What is broken, how, and the beginning of a problem that must be among those reported. */
const FAULTS: Readonly<Record<string, readonly [Change, string]>> = {
  'a root that is missing': [['asyncapi.yaml'], 'asyncapi.yaml#: does not exist or cannot be read'],
  'a file that is missing': [
    [PATHS],
    'openapi.yaml#/paths/~1things~1{id}: refers to paths/things.yaml#/~1things~1{id}, which does not exist',
  ],
  'an unknown schema': [
    [PATHS, 'thing.yaml#/Thing', 'thing.yaml#/Think'],
    'paths/things.yaml#/~1things~1{id}/get/responses/200/content/application~1json/schema: refers to schemas/thing.yaml#/Think, which is not a schema',
  ],
  'a part of a schema': [
    [THING, "'#/ThingId'", "'#/Thing/properties/id'"],
    'schemas/thing.yaml#/Thing/properties/id: refers to schemas/thing.yaml#/Thing/properties/id, which is not a schema',
  ],
  'an unknown component': [
    [PATHS, 'responses/NotFound', 'responses/Gone'],
    'openapi.yaml#/paths/~1things~1{id}/get/responses/404: refers to #/components/responses/Gone, which does not exist',
  ],
  'a circle': [
    [PATHS, '/things/{id}:', "/things/{id}: { $ref: '#/~1things~1{id}' }\n/other:"],
    'paths/things.yaml#/~1things~1{id}: refers to #/~1things~1{id} in a circle',
  ],
  'a schema name used twice': [
    ['schemas/socket.yaml', 'PokeCommand:', 'Thing: { description: Again., type: string }\nPokeCommand:'],
    'schemas/thing.yaml#/Thing: is defined in schemas/socket.yaml too',
  ],
  'a key used twice': [[THING, 'ThingId:', 'Thing:'], 'schemas/thing.yaml#: Map keys must be unique'],
  'an unused schema': [
    [THING, 'ThingId:', 'Spare: { description: Spare., type: string }\nThingId:'],
    'schemas/thing.yaml#/Spare: is used by neither document',
  ],
  'a schema without a description': [
    [THING, 'description: A name.', 'title: Name'],
    'schemas/thing.yaml#/ThingId: has no description',
  ],
  'a keyword of only one draft': [
    [THING, 'minLength: 1', 'unevaluatedProperties: false'],
    'schemas/thing.yaml#/ThingId/unevaluatedProperties: is not an allowed keyword',
  ],
  'a keyword in a schema written in place': [
    [PATHS, 'type: integer', 'type: integer, nullable: true'],
    'openapi.json#/paths/~1things~1{id}/get/parameters/0/schema/nullable: is not an allowed keyword',
  ],
  'something beside a reference': [
    [THING, "id: { $ref: '#/ThingId' }", "id: { $ref: '#/ThingId', description: Its name. }"],
    'schemas/thing.yaml#/Thing/properties/id: has description beside a $ref',
  ],
  'an operation without its marker': [
    [PATHS, 'x-svc-implementation: planned', 'deprecated: false'],
    `${OPERATION}has no x-svc-implementation`,
  ],
  'an unknown marker': [
    [PATHS, 'x-svc-implementation', 'x-svc-speed: fast\n    x-svc-implementation'],
    `${OPERATION}has x-svc-speed, which is not an allowed marker`,
  ],
  'an unknown value of a marker': [[PATHS, 'planned', 'someday'], `${OPERATION}has x-svc-implementation: "someday"`],
  'an operation without a description': [[PATHS, 'description: Reads it.', ''], `${OPERATION}has no description`],
  'an operation without a tag of the root': [
    [PATHS, 'tags: [things]', 'tags: [stuff]'],
    `${OPERATION}must have exactly one tag of the root`,
  ],
  'a public operation that asks for credentials': [
    [PATHS, 'x-svc-implementation', 'x-svc-access: public\n    x-svc-implementation'],
    `${OPERATION}has a security that contradicts its access`,
  ],
  'a path parameter that is not declared': [
    [PATHS, 'name: id', 'name: thing_id'],
    `${OPERATION}has path parameters that differ from those in its path`,
  ],
  'a wildcard in the middle': [
    [PATHS, 'x-svc-implementation', 'x-svc-wildcard: rest\n    x-svc-implementation'],
    `${OPERATION}has a wildcard before the end of its path`,
  ],
  'a message without its marker': [
    [WS, 'x-svc-implementation: planned\n    x-svc-kind', 'x-svc-kind'],
    `${COMMAND}has no x-svc-implementation`,
  ],
  'a command whose marker is not that of its operation': [
    [WS, 'x-svc-implementation: planned\n    x-svc-kind', 'x-svc-implementation: implemented\n    x-svc-kind'],
    `${COMMAND}has a different marker than its operation`,
  ],
  'an RPC without a result': [
    [WS, "x-svc-result: { $ref: '../schemas/thing.yaml#/Thing' }", ''],
    `${COMMAND}is an RPC without x-svc-result`,
  ],
  'a message of no operation': [
    [WS, "messages: [{ $ref: '#/messages/poke' }]", 'messages: []'],
    `${COMMAND}belongs to no operation`,
  ],
  'a payload without an example': [
    ['examples/ThingMoved/one.json'],
    'asyncapi.json#/channels/ws/messages/thing_moved: has no example',
  ],
  'a reply without an example': [
    ['examples/ApiError/one.json'],
    'openapi.json#/components/responses/NotFound/content/application~1json: has no example',
  ],
  'an example that is not valid': [
    ['examples/Thing/one.json', '"parent": null', '"parent": 3'],
    'examples/Thing/one.json#/parent/parent: must be null (null)',
  ],
  'an example that is no JSON': [['examples/ThingMoved/one.json', '}', ''], 'examples/ThingMoved/one.json#: '],
  'a default that is not valid': [
    [THING, 'minLength: 1', "minLength: 1\n  default: ''"],
    'schemas/thing.yaml#/ThingId/default: must NOT have fewer than 1 characters (1)',
  ],
  'an error without a status': [
    ['errors.yaml', 'status: 404', 'status: 204'],
    'errors.yaml#/NOT_FOUND: has no error status',
  ],
  'words for a pattern that stands nowhere': [
    ['patterns.yaml', '[a-z]', '[0-9]'],
    'patterns.yaml#/^[0-9]$: is in no schema',
  ],
  'words for a pattern that say nothing of the text': [
    ['patterns.yaml', 'must be a small letter', 'A small letter.'],
    'patterns.yaml#/^[a-z]$: must say what the text must be, and begin with "must"',
  ],
}

describe('a fault is reported with its file and place', () => {
  for (const [name, [change, expected]] of Object.entries(FAULTS)) {
    test(name, () => {
      const { problems } = readSmallContract(change)
      assert.ok(
        problems.some((problem) => problem.startsWith(expected)),
        `${expected}\nis not among\n${problems.join('\n')}`,
      )
    })
  }
})

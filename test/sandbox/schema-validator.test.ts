// Untrusted schemas: which are usable, what is reported about values, and that no schema exceeds its limits.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { findSchemaProblem, SCHEMA_THREAD_OPTIONS, SchemaValidator } from '../../src/sandbox/schema-validator.ts'
import { isSimpleSchema } from '../../src/sandbox/simple-schema.ts'

const PLAIN = {
  type: 'object',
  title: 'All that is plain',
  required: ['a', 'b'],
  properties: {
    a: { type: ['integer', 'null'], minimum: 1, exclusiveMaximum: 9, default: 3 },
    b: { type: 'string', minLength: 1, maxLength: 5, enum: ['x', 'y'] },
    c: { type: 'array', items: { const: null }, minItems: 0, uniqueItems: true },
    d: { anyOf: [{ type: 'boolean' }, true], not: { type: 'number' } },
    constructor: false,
  },
  additionalProperties: false,
}

const NOT_KNOWN: Record<string, unknown>[] = [
  { type: 'strng' },
  { type: [] },
  { enum: [] },
  { required: ['a', 'a'] },
  { items: [{}] },
  { anyOf: [] },
  { minLength: -1 },
  { minimum: '1' },
  { properties: { a: 1 } },
  { additionalProperties: { type: 'x' } },
]

test('a thread for schemas of users has no environment but the name of a cache', async () => {
  process.env.SVC_TEST_PLANTED = 'secret'
  const code = `require('node:worker_threads').parentPort.postMessage(Object.keys(process.env))`
  const worker = new Worker(code, { ...SCHEMA_THREAD_OPTIONS, eval: true })
  try {
    const [names] = (await once(worker, 'message')) as [string[]]
    assert.deepEqual(
      names.filter((name) => name !== 'NODE_COMPILE_CACHE'),
      [],
    )
  } finally {
    delete process.env.SVC_TEST_PLANTED
    await worker.terminate()
  }
})

describe('a value', () => {
  test('that is wrong below a very long name gets a problem with a truncated path', async () => {
    const schema = { additionalProperties: { type: 'array', items: { type: 'string' } } }
    const verdict = await new SchemaValidator().validateValue(schema, { ['k'.repeat(1_000_000)]: [1, 2] })
    assert.ok(verdict.kind === 'unfit')
    assert.equal(verdict.problems.length, 2)
    for (const { path } of verdict.problems) assert.ok(path.startsWith('/kkk') && path.length <= 2_001)
  })
})

describe('a schema', () => {
  test('is refused without compiling only if the compiler refuses it as well', async () => {
    const schemas = new SchemaValidator()
    const seen = NOT_KNOWN.filter((schema) => findSchemaProblem(schema) !== null)
    assert.equal(seen.length, 7)
    for (const schema of seen)
      assert.equal((await schemas.validateSchema(schema)).kind, 'unusable', JSON.stringify(schema))
    for (const schema of [PLAIN, { $ref: '#/$defs/a', $defs: { a: PLAIN } }, { pattern: '^a', format: 'date' }])
      assert.equal(findSchemaProblem(schema), null)
    const deep = { properties: { a: { items: { anyOf: [{ type: 'strng' }] } } } }
    assert.equal(findSchemaProblem(deep), '"type" has an invalid value')
  })

  test('that is simple is known to be usable, and the compiler agrees', async () => {
    assert.ok(isSimpleSchema(PLAIN))
    const schemas = new SchemaValidator()
    assert.deepEqual(await schemas.validateValue(PLAIN, { a: 1, b: 'x', c: [null], d: true }), { kind: 'fits' })
    const { kind } = await schemas.validateValue(PLAIN, { a: 0, b: 'x' })
    assert.equal(kind, 'unfit')
  })

  test('that is invalid is not taken for a simple one, and the compiler refuses it', async () => {
    const schemas = new SchemaValidator()
    const verdicts = await Promise.all(NOT_KNOWN.map((schema) => schemas.validateSchema(schema)))
    for (const [at, { kind }] of verdicts.entries()) assert.equal(kind, 'unusable', JSON.stringify(NOT_KNOWN[at]))
  })

  test('with other keywords, or with many, is compiled', () => {
    for (const schema of [
      { constructor: 1 },
      { pattern: 'a' },
      { $ref: '#' },
      { $defs: {} },
      { unevaluatedItems: true },
    ])
      assert.equal(isSimpleSchema(schema), false, JSON.stringify(schema))
    const properties = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`p${i}`, {}]))
    assert.equal(isSimpleSchema({ properties }), false)
  })

  test('is compiled once, also for several requests at the same time', async () => {
    const schemas = new SchemaValidator()
    const pattern = { pattern: '^a+$' }
    assert.equal(schemas.validateSchema(pattern), schemas.validateSchema({ ...pattern }))
    assert.deepEqual(await schemas.validateSchema(pattern), { kind: 'fits' })
  })

  test('checks each value against its own pattern, in linear time', async () => {
    const schema = {
      properties: { a: { pattern: '^(a+)+$' }, b: { pattern: 'b$' } },
      patternProperties: { '^x': { type: 'string' } },
    }
    const faults = async (value: object) => {
      const verdict = await new SchemaValidator().validateValue(schema, value)
      return verdict.kind === 'unfit' ? verdict.problems.map(({ path }) => path) : verdict.kind
    }
    assert.equal(await faults({ a: 'aa', b: 'ab', xa: 'x', y: 1 }), 'fits')
    assert.deepEqual(await faults({ a: 'ab', b: 'ba', xa: 1, y: 1 }), ['/a', '/b', '/xa'])
    assert.deepEqual(await faults({ a: `${'a'.repeat(50_000)}b` }), ['/a'])
  })

  test('stops waiting for a thread when its signal aborts', async () => {
    const schemas = new SchemaValidator()
    const given = new AbortController()
    const verdicts = Array.from({ length: 12 }, (_, at) =>
      schemas.validateSchema({ pattern: `^${at}` }, 'ada', given.signal),
    )
    assert.ok(schemas.countWaiting('ada') > 0)
    given.abort(new Error('nobody waits'))
    assert.equal(schemas.countWaiting('ada'), 0)
    const ends = await Promise.allSettled(verdicts)
    const under_way = ends.filter(({ status }) => status === 'fulfilled').length
    assert.ok(under_way > 0 && under_way <= 2)
    assert.deepEqual(await schemas.validateSchema({ pattern: '^11' }, 'ada'), { kind: 'fits' })
  })

  test('refuses a value that cannot be serialized', async () => {
    let deep: object = {}
    for (let i = 0; i < 20_000; i++) deep = { a: deep }
    assert.deepEqual(await new SchemaValidator().validateValue({ type: 'object' }, deep), { kind: 'costly' })
  })

  test('is handled for one user while another user has many validations', async () => {
    const schemas = new SchemaValidator()
    const slow = { pattern: '^a' }
    const ended: string[] = []
    const much = Array.from({ length: 12 }, (_, at) =>
      schemas.validateValue(slow, `a${at}`, { owner: 'much' }).then(() => ended.push('much')),
    )
    assert.ok(schemas.countWaiting('much') > 0)
    assert.equal(schemas.countWaiting('other'), 0)
    await schemas.validateValue(slow, 'a', { owner: 'other' })
    const before = ended.length
    await Promise.all(much)
    assert.ok(before <= 4, `${before} of the other user were judged before`)
    assert.equal(schemas.countWaiting('much'), 0)
  })

  test('of two users is validated in the turns of each, and once per user', async () => {
    const schemas = new SchemaValidator()
    const ended: string[] = []
    const much = Array.from({ length: 12 }, (_, at) =>
      schemas.validateSchema({ pattern: `^${at}` }, 'much').then(() => ended.push('much')),
    )
    const last = { pattern: '^11' }
    assert.deepEqual(await schemas.validateSchema(last, 'other'), { kind: 'fits' })
    const before = ended.length
    await Promise.all(much)
    assert.ok(before <= 4, `${before} of the other user were judged before`)
  })

  test('that one user has is compiled for another one anew, so that its time does not tell who has it', async () => {
    const schemas = new SchemaValidator()
    const schema = { pattern: '^shared$' }
    const hers = schemas.validateSchema(schema, 'ada')
    assert.deepEqual(await hers, { kind: 'fits' })
    const his = schemas.validateSchema(schema, 'bob')
    assert.notEqual(his, hers)
    assert.deepEqual(await his, { kind: 'fits' })
    assert.equal(schemas.validateSchema(schema, 'ada'), hers)
    assert.equal(schemas.validateSchema(schema, 'bob'), his)
  })

  test('uses a limited amount of memory', async () => {
    const many = Array.from({ length: 300_000 }, (_, i) => i)
    const items = { allOf: Array.from({ length: 30 }, () => ({ type: 'string' })) }
    assert.deepEqual(await new SchemaValidator().validateValue({ items }, many), { kind: 'costly' })
  })
})

// Hot operations, and large bodies of all others, are judged by generated validators instead of express-openapi-validator: both must give the
// same verdict on the same request.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { Agent, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import express from 'express'
import fc from 'fast-check'
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import { type Problem, ServiceError } from '../../src/errors.ts'
import { createJsonBodyParser, takeLargeBody } from '../../src/http/body/json-body.ts'
import { RequestScheduler } from '../../src/http/pipeline/request-scheduler.ts'
import { toExpressPaths } from '../../src/http/pipeline/route-paths.ts'
import {
  createRequestValidators,
  type RequestValidators,
} from '../../src/http/pipeline/validation/request-validators.ts'
import { PayloadValidator } from '../../src/payloads/payload-validator.ts'
import { TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { type Schema, valuesAround } from './schema-values.ts'

const RUNS = 200 * Number(process.env.SVC_TEST_SCALE ?? 1)
const SEED = Number(process.env.SVC_TEST_SEED ?? Date.now() % 2 ** 31)

// Probes refuse nothing; here both validators are asked all the same.
const hot = operationManifest
  .filter(({ implementation }) => implementation === 'implemented')
  .filter(({ validation, body }) => validation === 'precompiled' || body === 'json')
  .map((operation): OperationInfo => ({ ...operation, refuses_input: true, validation: 'precompiled' }))

/** The same operations, as express-openapi-validator judges them. */
const twins = new Map(
  hot.map((operation): [string, OperationInfo] => [operation.operationId, { ...operation, validation: 'openapi' }]),
)

const MOST_PROBLEMS = 100

interface Verdict {
  accepted: boolean
  /** Where the problems are. */
  paths: string[]
  /** Of very many problems the first are told. */
  cut: boolean
  value: unknown
}

interface Verdicts {
  generated: Verdict
  openapi: Verdict
}

async function verdict(
  validators: RequestValidators,
  operation: OperationInfo,
  request: express.Request,
): Promise<Verdict> {
  try {
    const { path, query, body } = await validators.validate(operation, request)
    return { accepted: true, paths: [], cut: false, value: structuredClone({ path, query, body }) }
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
    assert.equal(error.code, 'INVALID_REQUEST')
    return {
      accepted: false,
      paths: [...new Set(error.problems.map((problem: Problem) => problem.path))].sort(),
      cut: error.problems.length >= MOST_PROBLEMS,
      value: null,
    }
  }
}

/** Both judge values that are parsed. */
const parseLarge: express.RequestHandler = (request, _response, next) => {
  const large = takeLargeBody(request)
  if (large) request.body = JSON.parse(large.toString()) as unknown
  next()
}

/** One application that hands each request to both validators and answers with both verdicts. */
function judge(): express.Express {
  const app = express()
  app.set('query parser', 'simple').set('case sensitive routing', true).set('strict routing', true)
  const validators = createRequestValidators([...hot, ...twins.values()], {
    payloads: new PayloadValidator(1024 * 1024),
    slices: new TimeSliceScheduler(),
  })
  for (const operation of hot) {
    // Which integers can be read is no business of the schemas.
    const steps =
      operation.body === 'json'
        ? [createJsonBodyParser(new RequestScheduler(), 1024 * 1024, undefined, () => {}), parseLarge]
        : []
    app[operation.method as 'get'](toExpressPaths(operation), ...steps, async (request, response) => {
      const body = structuredClone(request.body)
      const generated = await verdict(validators, operation, request)
      request.body = body
      const openapi = await verdict(validators, twins.get(operation.operationId)!, request)
      // An answer to HEAD has no body, so that its verdicts go into a header.
      if (request.method === 'HEAD')
        response.set('X-Verdicts', encodeURIComponent(JSON.stringify({ generated, openapi })))
      response.json({ generated, openapi } satisfies Verdicts)
    })
  }
  return app
}

interface Input {
  path: string
  method: string
  body: string | null
  headers: Record<string, string>
}

function exchange(
  port: number,
  agent: Agent,
  { path, method, body, headers }: Input,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = send({ host: '127.0.0.1', port, method, path, agent, headers }, (incoming) => {
      let text = ''
      incoming.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      const told = () => text || decodeURIComponent(String(incoming.headers['x-verdicts']))
      incoming.on('end', () => resolve({ status: incoming.statusCode!, text: told() })).on('error', reject)
    })
    outgoing.on('error', reject).end(body ?? undefined)
  })
}

const segment = fc.oneof(
  fc.constantFrom(
    'wf_1',
    'a',
    '..',
    '%2e%2e',
    'a%2Fb',
    '%00',
    '%F0%9F%8E%88',
    "a'b",
    'a;b=c',
    'a:b',
    'true',
    '0',
    'null',
    'x'.repeat(512),
    'x'.repeat(513),
    '%C3%A4'.repeat(512),
  ),
  fc.string({ minLength: 1, maxLength: 20 }).map(encodeURIComponent),
)

interface Parameter {
  $ref?: string
  name: string
  in: string
  schema: Schema
}

interface Declared {
  parameters?: Parameter[]
  requestBody?: { content: Record<string, { schema: Schema; examples?: Record<string, { value: unknown }> }> }
}

const document = JSON.parse(readFileSync(new URL('../../generated/openapi.json', import.meta.url), 'utf8')) as {
  paths: Record<string, Record<string, Declared> & { parameters?: Parameter[] }>
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> }
}

function resolve(schema: Schema): Schema {
  return schema.$ref === undefined ? schema : resolve(document.components.schemas[schema.$ref.split('/').at(-1)!]!)
}

function declared({ path, method }: OperationInfo): Declared {
  return document.paths[path]![method]!
}

const odd = fc.constantFrom('', '1', 'true', 'null', '%00', "it's", 'a:b/c?d@e!$()*,;=', '[]')
const anyText = fc.oneof(odd, fc.string({ maxLength: 8 }).map(encodeURIComponent))

/** Nothing most of the time, else parameters that are declared or not, with values around their schemas. */
function queries(operation: OperationInfo): fc.Arbitrary<string> {
  const all = (declared(operation).parameters ?? []).map((one) =>
    one.$ref === undefined ? one : document.components.parameters[one.$ref.split('/').at(-1)!]!,
  )
  const known = all
    .filter((one) => one.in === 'query')
    .map(({ name, schema }) =>
      fc.tuple(
        fc.constant(name),
        fc.oneof(
          anyText,
          valuesAround(schema, resolve).map((value) => encodeURIComponent(String(value))),
        ),
      ),
    )
  const unknown = fc.tuple(fc.constantFrom('x', 'params', '__proto__', 'constructor', 'a[b]', 'a.b', ''), anyText)
  return fc
    .oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(fc.oneof(unknown, ...known), { maxLength: 3 }))
    .map((pairs) => (pairs.length === 0 ? '' : `?${pairs.map(([name, value]) => `${name}=${value}`).join('&')}`))
}

const header = fc.oneof(
  { weight: 3, arbitrary: fc.constant({}) },
  fc.dictionary(
    fc.constantFrom('If-Match', 'Accept', 'X-Any', 'Cookie', 'Range'),
    fc.constantFrom('', '*', '"1"', 'a=b', 'text/html'),
    { maxKeys: 2 },
  ),
)

const ODD_BODIES = ['{}', '[]', 'null', '""', '0', '{"__proto__":{}}', '{"params":{"__proto__":1}}', '{"a":1,"a":2}']

/** Of conversations the parts of messages are that deep, with all the variants on the way. */
const DEPTH = 8

/** JSON text, or null for no body at all. */
function bodies(operation: OperationInfo): fc.Arbitrary<string | null> {
  const { schema, examples = {} } = declared(operation).requestBody?.content['application/json'] ?? {}
  if (operation.body !== 'json' || schema === undefined) return fc.constant(null)
  return fc.oneof(
    { weight: 10, arbitrary: valuesAround(schema, resolve, DEPTH).map((value) => JSON.stringify(value)) },
    { weight: 1, arbitrary: fc.constantFrom(null, ...ODD_BODIES) },
    // Of large bodies that are made by chance few are right all through.
    ...Object.values(examples).map(({ value }) => ({ weight: 3, arbitrary: fc.constant(JSON.stringify(value)) })),
  )
}

function inputs(operation: OperationInfo): fc.Arbitrary<Input> {
  const [template] = toExpressPaths(operation)
  const segments = fc.array(segment, { minLength: 3, maxLength: 3 })
  return fc.tuple(segments, queries(operation), header, bodies(operation)).map(([values, search, headers, body]) => {
    let at = 0
    const path = template!.replace(/[:*]\w+/g, () => values[at++]!)
    const type: Record<string, string> = body === null ? {} : { 'Content-Type': 'application/json' }
    return { path: path + search, method: operation.method.toUpperCase(), body, headers: { ...headers, ...type } }
  })
}

// express-openapi-validator does not escape the names of unknown properties in its paths, and loses an empty one.
function oddlyNamed({ body }: Input): boolean {
  return hasOddKey(JSON.parse(body ?? 'null'))
}

function hasOddKey(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(value).some(([key, member]) => key === '' || /[/~]/.test(key) || hasOddKey(member))
}

for (const operation of hot) {
  test(`${operation.operationId}: both validators give the same verdict (seed ${SEED})`, async () => {
    const server = judge().listen(0, '127.0.0.1')
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const counts = { accepted: 0, refused: 0 }
    try {
      await new Promise((resolve) => server.once('listening', resolve))
      const { port } = server.address() as AddressInfo
      const property = fc.asyncProperty(inputs(operation), async (input) => {
        const { status, text } = await exchange(port, agent, input)
        assert.equal(status, 200, `${JSON.stringify(input)}\n${text}`)
        const { generated, openapi } = JSON.parse(text) as Verdicts
        assert.equal(generated.accepted, openapi.accepted, `${JSON.stringify(input)}\n${text}`)
        const both = generated.paths.filter((path) => openapi.paths.includes(path))
        if (!oddlyNamed(input)) {
          assert.deepEqual(openapi.cut ? both : generated.paths, both, JSON.stringify(input))
          assert.deepEqual(generated.cut ? both : openapi.paths, both, JSON.stringify(input))
        }
        counts[generated.accepted ? 'accepted' : 'refused']++
      })
      await fc.assert(property, { numRuns: RUNS, seed: SEED })
    } finally {
      agent.destroy()
      server.closeAllConnections()
      server.close()
    }
    assert.ok(counts.accepted > RUNS / 20 && counts.refused > RUNS / 20, JSON.stringify(counts))
  })
}

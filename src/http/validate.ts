// Requests against the contract: express-openapi-validator for the HTTP surface, the generated validators for its hot operations.
import type { Request, RequestHandler } from 'express'
import type { OperationInfo } from '../../generated/operations.ts'
import { bodyValidators, parameterValidators, requestValidators, type Validate } from '../../generated/validators.js'
import { measuredSteps } from '../engine/measure.ts'
import { andMore, type Problem, ServiceError } from '../errors.ts'
import { parseJsonInParts } from '../payloads/json-parts.ts'
import type { PayloadJudge } from '../payloads/payload-judge.ts'
import { patternSentence, pointer, problemsOf, withoutRepeats } from '../problems.ts'
import type { TimeSlices } from '../time-slices.ts'
import { faultOf, keepText, takeLarge } from './body.ts'
import { callerKey } from './locals.ts'
import { numeralProblems } from './numerals.ts'
import { handsOn } from './served.ts'
import { type RequestFacts, validatorDocument, validatorUrl } from './validator-document.ts'

/** A request that satisfies its schema, with numbers and booleans read from their text. */
export interface ValidRequest {
  path: Record<string, unknown>
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body: unknown
}

export interface Validators {
  /** @throws INVALID_REQUEST with every problem */
  validate(operation: OperationInfo, request: Request): ValidRequest | Promise<ValidRequest>
  /** Loads and compiles what is otherwise loaded at the first request that needs it. */
  warmUp(): Promise<void>
}

/** What the validator finds out of a request before it judges it, by its address. */
interface Route {
  pathParams: Record<string, unknown>
}

type Routed = Request & { openapi?: Route }

interface Openapi {
  steps: readonly RequestHandler[]
  /** By method and operation id: it looks through all addresses each time, and the router knows already. */
  routes: Map<string, Route>
  /** By operation id. */
  facts: ReadonlyMap<string, RequestFacts>
}

/** What large bodies are judged and parsed with. */
export interface LargeBodyTools {
  readonly payloads: PayloadJudge
  readonly slices: TimeSlices
}

export function createValidators(served: readonly OperationInfo[], tools: LargeBodyTools): Validators {
  const openapi = () => preparedFor(served)
  return {
    validate(operation, request) {
      const large = operation.body === 'json' ? takeLarge(request) : null
      if (large) return withLargeBody(tools, operation, request, large)
      if (!operation.refuses_input) return asSent(operation, request)
      if (operation.validation === 'precompiled') return precompiled(operation, request)
      return throughOpenapi(openapi(), operation, request)
    },
    async warmUp() {
      await openapi()
    },
  }
}

function asSent(operation: OperationInfo, { params, query, headers, body }: Request): ValidRequest {
  return { path: pathValues(operation, params), query: { ...query }, headers, body }
}

/** Express gives the segments of a wildcard one by one. */
function pathValues({ wildcard }: OperationInfo, params: Request['params']): Record<string, unknown> {
  if (wildcard === null) return { ...params }
  const segments = params[wildcard]
  return { ...params, [wildcard]: Array.isArray(segments) ? segments.join('/') : segments }
}

/** The generated validators judge large bodies of all operations: they run in a thread, and give up early. */
async function withLargeBody(
  { payloads, slices }: LargeBodyTools,
  operation: OperationInfo,
  request: Request,
  large: Buffer,
): Promise<ValidRequest> {
  const id = operation.operationId as keyof typeof bodyValidators
  const sent = asSent(operation, request)
  const value = parametersOf(sent)
  const parameters: Validate = parameterValidators[id]
  const found = parameters(value) ? [] : problemsOf(parameters.errors ?? [])
  const owner = callerKey(request.res!)
  const { verdict, bytes } = await payloads.body(owner, { operation: id, passed_on: handsOn(operation), bytes: large })
  if (verdict.kind !== 'valid' && verdict.kind !== 'invalid') throw faultOf(verdict)
  keepText(request, bytes)
  if (verdict.kind === 'invalid') found.push(...verdict.problems)
  // Problems of a conversation are told by what its messages are.
  if (found.length === 0 || operation.errors === 'openai') {
    // Its value is held for as long as the request is.
    const release = await payloads.memory.take(owner, verdict.memory_bytes)
    if (request.res!.closed) release()
    else request.res!.once('close', release)
    request.body = await slices.run(owner, measuredSteps(parseJsonInParts(bytes)))
  }
  if (found.length > 0) throw invalidRequest(found, operation)
  return checkNumerals(sent, { ...value, body: request.body })
}

/** Numbers are put in the place of their texts. */
function parametersOf({ path, query, headers }: ValidRequest): Omit<ValidRequest, 'body'> {
  return { path: { ...path }, query: { ...query }, headers: { ...headers } }
}

function precompiled(operation: OperationInfo, request: Request): ValidRequest {
  const sent = asSent(operation, request)
  const value = { ...parametersOf(sent), body: sent.body }
  const validate = requestValidators[operation.operationId as keyof typeof requestValidators]
  if (!validate(value)) throw invalidRequest(problemsOf(validate.errors ?? []), operation)
  return checkNumerals(sent, value)
}

async function throughOpenapi(
  openapi: Promise<Openapi>,
  operation: OperationInfo,
  request: Request,
): Promise<ValidRequest> {
  const { facts, ...tools } = await openapi
  const sent = { path: request.params, query: request.query, headers: { ...request.headers } }
  const found = ownProblems(facts.get(operation.operationId)!, request)
  refuseEndless(operation, request, found)
  try {
    await judge(operation, request, tools)
  } catch (error) {
    throw fromOpenapi(error, found, operation)
  }
  if (found.length > 0) throw invalidRequest(found)
  // The validator makes `query` the request's own property and coerces it in place.
  const { params: path, headers, body } = request
  return checkNumerals(sent, { path, query: { ...request.query }, headers, body })
}

/** So many errors take the other validator no time; more the generated ones may not tell. */
const MOST_ERRORS = 1_000

/**
 * Of a body that is wrong all through the other validator would gather every problem, and with each one copy those before.
 * @throws INVALID_REQUEST with the first of them, behind those that were `found` already
 */
function refuseEndless({ operationId }: OperationInfo, { body }: Request, found: readonly Problem[]): void {
  const validate = bodyValidators[operationId as keyof typeof bodyValidators] as Validate | undefined
  if (!validate || validate({ body })) return
  const errors = validate.errors ?? []
  if (errors.length >= MOST_ERRORS || errors.some(({ keyword }) => /^max(?:Items|Properties)$/.test(keyword)))
    throw invalidRequest([...found, ...problemsOf(errors)])
}

/** @throws INVALID_REQUEST for numbers that were not sent as digits */
function checkNumerals(sent: Omit<ValidRequest, 'body'>, value: ValidRequest): ValidRequest {
  const problems = [
    ...numeralProblems('/path', sent.path, value.path),
    ...numeralProblems('/query', sent.query, value.query),
    ...numeralProblems('/headers', sent.headers, value.headers),
  ]
  if (problems.length > 0) throw invalidRequest(problems)
  return value
}

const NO_BODY: Problem = { path: '/body', message: 'is required', code: 'required' }

/** What express-openapi-validator stops at, or does not see: unknown query parameters and a missing body. */
function ownProblems({ query_names, body_required }: RequestFacts, request: Request): Problem[] {
  const unknown = Object.keys(request.query).filter((name) => !query_names.has(name))
  return [
    ...unknown.map((name) => ({
      path: pointer('/query', name),
      message: 'is not a known parameter',
      code: 'unknown_parameter',
    })),
    ...(body_required && request.body === undefined ? [NO_BODY] : []),
  ]
}

function search({ url }: Request): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at)
}

async function judge(
  operation: OperationInfo,
  request: Routed,
  { steps, routes }: Omit<Openapi, 'facts'>,
): Promise<void> {
  const values = pathValues(operation, request.params)
  const key = `${request.method} ${operation.operationId}`
  const route = routes.get(key)
  const url = validatorUrl(operation, values, search(request))
  if (route) {
    request.openapi = { ...route, pathParams: values }
    request.params = values as Request['params']
    return runAt(url, operation, steps.slice(-1), request)
  }
  try {
    await runAt(url, operation, steps, request)
  } finally {
    if (request.openapi) routes.set(key, { ...request.openapi, pathParams: {} })
  }
}

/**
 * Runs the steps as if the request had come to `url`, and with the one Content-Type that the contract knows, if any: others are refused before. The validator
 * keeps for ever what it compiles for each that it sees, and to read one of 16,000 characters can take it half a second.
 */
async function runAt(
  url: string,
  { body }: OperationInfo,
  steps: readonly RequestHandler[],
  request: Request,
): Promise<void> {
  const { url: original, headers } = request
  const given = headers['content-type']
  // Where there is to be a body it would stop without any, and not say what else is wrong.
  const shown = body === 'json' ? 'application/json' : undefined
  request.url = url
  if (given !== shown) headers['content-type'] = shown
  try {
    for (const step of steps) await run(step, request)
  } finally {
    request.url = original
    if (given !== shown) headers['content-type'] = given
  }
}

function run(step: RequestHandler, request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error === undefined || error === null ? resolve() : reject(error))
    void Promise.resolve(step(request, request.res!, next)).catch(next)
  })
}

/** By the ids of the operations. All servers of a process share them: they follow from the contract alone, and remember nothing of requests. */
const PREPARED = new Map<string, Promise<Openapi>>()

function preparedFor(served: readonly OperationInfo[]): Promise<Openapi> {
  const ids = served.map(({ operationId }) => operationId).join(' ')
  const prepared = PREPARED.get(ids) ?? loadOpenapi(served)
  PREPARED.set(ids, prepared)
  return prepared
}

// Loaded on demand: importing and preparing it costs more than everything else at start.
async function loadOpenapi(served: readonly OperationInfo[]): Promise<Openapi> {
  const [{ middleware }, { document, facts }] = await Promise.all([
    import('express-openapi-validator'),
    validatorDocument(served),
  ])
  const steps = middleware({
    apiSpec: document as never,
    validateApiSpec: false,
    // It stops at the first unknown query parameter; `ownProblems` finds all, beside every other problem.
    validateRequests: { allowUnknownQueryParameters: true, coerceTypes: false, allErrors: true },
    validateResponses: false,
    validateSecurity: false,
    // The fast ones, which it takes otherwise, have a 30 February; these are those of the generated validators.
    ajvFormats: { mode: 'full' },
    fileUploader: false,
    useRequestUrl: true,
  })
  return { steps: steps as readonly RequestHandler[], routes: new Map(), facts }
}

interface OpenapiProblem {
  path?: string
  message?: string
  errorCode?: string
}

interface OpenapiError {
  status?: unknown
  errors?: readonly OpenapiProblem[]
}

function fromOpenapi(thrown: unknown, found: readonly Problem[], operation: OperationInfo): unknown {
  const { status, errors } = thrown as OpenapiError
  if (status !== 400 || !errors) return thrown
  const others = tellingOf(errors)
    .map(problemOf)
    .filter(({ path }) => path !== NO_BODY.path || !found.includes(NO_BODY))
  return invalidRequest([...found, ...withoutRepeats(others)], operation)
}

/** As of the generated validators: a variant's own errors say what is wrong, and not that none fitted, or that it was not meant to be null. */
function tellingOf(errors: readonly OpenapiProblem[]): readonly OpenapiProblem[] {
  const telling = errors.filter(({ errorCode = '' }) => !/^(?:oneOf|anyOf|if)\./.test(errorCode))
  const isMeant = ({ path = '', message }: OpenapiProblem) =>
    message !== 'must be null' ||
    !errors.some((other) => other.path?.startsWith(`${path}/`) || (other.path === path && !isOfType(other)))
  return telling.length > 0 ? telling.filter(isMeant) : errors
}

function isOfType({ errorCode = '' }: OpenapiProblem): boolean {
  return /^(?:type|oneOf|anyOf|if)\./.test(errorCode)
}

function problemOf({ path = '', message = 'is not valid', errorCode }: OpenapiProblem): Problem {
  const code = errorCode?.split('.')[0]
  // It names path parameters `/params/…`; the contract has them under `path`.
  return { path: path.replace(/^\/params\//, '/path/'), message: inOurWords(message), ...(code ? { code } : {}) }
}

const ALLOWED = 'must be equal to one of the allowed values: '

/** As the generated validators say it. It joins the values that are allowed, and null becomes nothing at all. */
function inOurWords(message: string): string {
  if (message === 'must NOT have additional properties') return 'is not a known property'
  const pattern = /^must match pattern "(.*)"$/s.exec(message)?.[1]
  if (pattern !== undefined) return patternSentence(pattern)
  if (!message.startsWith(ALLOWED)) return message
  const values = message.slice(ALLOWED.length).split(', ')
  return `must be one of ${values.map((value) => value || 'null').join(', ')}`
}

/** Where what a workflow takes belongs, of operations that run one: beginners put it beside that. */
const TAKEN_IN: Readonly<Record<string, string>> = {
  runWorkflow: 'params',
  preflightWorkflow: 'inputs',
  submitJob: 'inputs',
}

function withPlace(problem: Problem, place: string): Problem {
  if (problem.code !== 'additionalProperties' || !/^\/body\/[^/]*$/.test(problem.path)) return problem
  return { ...problem, message: `${problem.message}: what the workflow takes belongs in "${place}"` }
}

function invalidRequest(all: readonly Problem[], operation?: OperationInfo): ServiceError {
  const place = operation && TAKEN_IN[operation.operationId]
  const problems = place === undefined ? all : all.map((problem) => withPlace(problem, place))
  const [first] = problems
  const message = first ? `${first.path || 'The request'}: ${first.message}${andMore(problems)}` : undefined
  return new ServiceError('INVALID_REQUEST', { problems, message })
}

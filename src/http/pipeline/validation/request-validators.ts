// Requests against the contract: express-openapi-validator for the HTTP surface, the generated validators for its hot operations.
import type { Request, RequestHandler } from 'express'
import type { OperationInfo } from '../../../../generated/operations.ts'
import {
  bodyValidators,
  parameterValidators,
  requestValidators,
  type Validate,
} from '../../../../generated/validators.js'
import { makeMeasuredSteps } from '../../../engine/node-api/values/measure.ts'
import { moreProblemsSuffix, type Problem, ServiceError } from '../../../errors.ts'
import { parseJsonSteps } from '../../../payloads/incremental-json-parser.ts'
import type { PayloadValidator } from '../../../payloads/payload-validator.ts'
import type { TimeSliceScheduler } from '../../../shared/time-slices.ts'
import {
  appendToPointer,
  describePattern,
  removeDuplicateProblems,
  toValidationProblems,
} from '../../../shared/validation-problems.ts'
import { bodyVerdictError, replaceBodyText, takeLargeBody } from '../../body/json-body.ts'
import { callerKey } from '../response-locals.ts'
import { isBodyForwarded } from '../served-operations.ts'
import { validateIntegerSyntax } from './integer-syntax.ts'
import { formatValidatorUrl, type InputRequirements, loadValidatorDocument } from './openapi-validator-document.ts'

/** A request that satisfies its schema, with numbers and booleans read from their text. */
export interface ValidRequest {
  path: Record<string, unknown>
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body: unknown
}

export interface RequestValidators {
  /** @throws INVALID_REQUEST with every problem */
  validate(operation: OperationInfo, request: Request): ValidRequest | Promise<ValidRequest>
  /** Loads and compiles what is otherwise loaded at the first request that needs it. */
  warmUp(): Promise<void>
}

/** What the validator finds out of a request before it judges it, by its address. */
interface ValidatorRoute {
  pathParams: Record<string, unknown>
}

type RoutedRequest = Request & { openapi?: ValidatorRoute }

interface OpenapiValidator {
  steps: readonly RequestHandler[]
  /** By method and operation id: it looks through all addresses each time, and the router knows already. */
  routes: Map<string, ValidatorRoute>
  /** By operation id. */
  requirements: ReadonlyMap<string, InputRequirements>
}

/** What large bodies are judged and parsed with. */
export interface LargeBodyTools {
  readonly payloads: PayloadValidator
  readonly slices: TimeSliceScheduler
}

export function createRequestValidators(served: readonly OperationInfo[], tools: LargeBodyTools): RequestValidators {
  const openapi = () => getOpenapiValidator(served)
  return {
    validate(operation, request) {
      const large = operation.body === 'json' ? takeLargeBody(request) : null
      if (large) return validateLargeBody(tools, operation, request, large)
      if (!operation.refuses_input) return readSentValues(operation, request)
      if (operation.validation === 'precompiled') return validatePrecompiled(operation, request)
      return validateByOpenapi(openapi(), operation, request)
    },
    async warmUp() {
      await openapi()
    },
  }
}

function readSentValues(operation: OperationInfo, { params, query, headers, body }: Request): ValidRequest {
  return { path: pathValues(operation, params), query: { ...query }, headers, body }
}

/** Express gives the segments of a wildcard one by one. */
function pathValues({ wildcard }: OperationInfo, params: Request['params']): Record<string, unknown> {
  if (wildcard === null) return { ...params }
  const segments = params[wildcard]
  return { ...params, [wildcard]: Array.isArray(segments) ? segments.join('/') : segments }
}

/** The generated validators judge large bodies of all operations: they run in a thread, and give up early. */
async function validateLargeBody(
  { payloads, slices }: LargeBodyTools,
  operation: OperationInfo,
  request: Request,
  large: Buffer,
): Promise<ValidRequest> {
  const id = operation.operationId as keyof typeof bodyValidators
  const sent = readSentValues(operation, request)
  const value = copyParameters(sent)
  const parameters: Validate = parameterValidators[id]
  const found = parameters(value) ? [] : toValidationProblems(parameters.errors ?? [])
  const owner = callerKey(request.res!)
  const { verdict, bytes } = await payloads.validateBody(owner, {
    operation: id,
    passed_on: isBodyForwarded(operation),
    bytes: large,
  })
  if (verdict.kind !== 'valid' && verdict.kind !== 'invalid') throw bodyVerdictError(verdict)
  replaceBodyText(request, bytes)
  if (verdict.kind === 'invalid') found.push(...verdict.problems)
  // Problems of a conversation are told by what its messages are.
  if (found.length === 0 || operation.errors === 'openai') {
    // Its value is held for as long as the request is.
    const release = await payloads.memory.take(owner, verdict.memory_bytes)
    if (request.res!.closed) release()
    else request.res!.once('close', release)
    request.body = await slices.run(owner, makeMeasuredSteps(parseJsonSteps(bytes)))
  }
  if (found.length > 0) throw invalidRequestError(found, operation)
  return checkIntegerSyntax(sent, { ...value, body: request.body })
}

/** Numbers are put in the place of their texts. */
function copyParameters({ path, query, headers }: ValidRequest): Omit<ValidRequest, 'body'> {
  return { path: { ...path }, query: { ...query }, headers: { ...headers } }
}

function validatePrecompiled(operation: OperationInfo, request: Request): ValidRequest {
  const sent = readSentValues(operation, request)
  const value = { ...copyParameters(sent), body: sent.body }
  const validate = requestValidators[operation.operationId as keyof typeof requestValidators]
  if (!validate(value)) throw invalidRequestError(toValidationProblems(validate.errors ?? []), operation)
  return checkIntegerSyntax(sent, value)
}

async function validateByOpenapi(
  openapi: Promise<OpenapiValidator>,
  operation: OperationInfo,
  request: Request,
): Promise<ValidRequest> {
  const { requirements, ...tools } = await openapi
  const sent = { path: request.params, query: request.query, headers: { ...request.headers } }
  const found = findOwnProblems(requirements.get(operation.operationId)!, request)
  rejectManyErrors(operation, request, found)
  try {
    await runOpenapiValidation(operation, request, tools)
  } catch (error) {
    throw translateOpenapiError(error, found, operation)
  }
  if (found.length > 0) throw invalidRequestError(found)
  // The validator makes `query` the request's own property and coerces it in place.
  const { params: path, headers, body } = request
  return checkIntegerSyntax(sent, { path, query: { ...request.query }, headers, body })
}

/** So many errors take the other validator no time; more the generated ones may not tell. */
const MAX_ERRORS = 1_000

/**
 * Of a body that is wrong all through the other validator would gather every problem, and with each one copy those before.
 * @throws INVALID_REQUEST with the first of them, behind those that were `found` already
 */
function rejectManyErrors({ operationId }: OperationInfo, { body }: Request, found: readonly Problem[]): void {
  const validate = bodyValidators[operationId as keyof typeof bodyValidators] as Validate | undefined
  if (!validate || validate({ body })) return
  const errors = validate.errors ?? []
  if (errors.length >= MAX_ERRORS || errors.some(({ keyword }) => /^max(?:Items|Properties)$/.test(keyword)))
    throw invalidRequestError([...found, ...toValidationProblems(errors)])
}

/** @throws INVALID_REQUEST for numbers that were not sent as digits */
function checkIntegerSyntax(sent: Omit<ValidRequest, 'body'>, value: ValidRequest): ValidRequest {
  const problems = [
    ...validateIntegerSyntax('/path', sent.path, value.path),
    ...validateIntegerSyntax('/query', sent.query, value.query),
    ...validateIntegerSyntax('/headers', sent.headers, value.headers),
  ]
  if (problems.length > 0) throw invalidRequestError(problems)
  return value
}

const MISSING_BODY: Problem = { path: '/body', message: 'is required', code: 'required' }

/** What express-openapi-validator stops at, or does not see: unknown query parameters and a missing body. */
function findOwnProblems({ query_names, body_required }: InputRequirements, request: Request): Problem[] {
  const unknown = Object.keys(request.query).filter((name) => !query_names.has(name))
  return [
    ...unknown.map((name) => ({
      path: appendToPointer('/query', name),
      message: 'is not a known parameter',
      code: 'unknown_parameter',
    })),
    ...(body_required && request.body === undefined ? [MISSING_BODY] : []),
  ]
}

function queryStringOf({ url }: Request): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at)
}

async function runOpenapiValidation(
  operation: OperationInfo,
  request: RoutedRequest,
  { steps, routes }: Omit<OpenapiValidator, 'requirements'>,
): Promise<void> {
  const values = pathValues(operation, request.params)
  const key = `${request.method} ${operation.operationId}`
  const route = routes.get(key)
  const url = formatValidatorUrl(operation, values, queryStringOf(request))
  if (route) {
    request.openapi = { ...route, pathParams: values }
    request.params = values as Request['params']
    return runStepsAt(url, operation, steps.slice(-1), request)
  }
  try {
    await runStepsAt(url, operation, steps, request)
  } finally {
    if (request.openapi) routes.set(key, { ...request.openapi, pathParams: {} })
  }
}

/**
 * Runs the steps as if the request had come to `url`, and with the one Content-Type that the contract knows, if any: others are refused before. The validator
 * keeps for ever what it compiles for each that it sees, and to read one of 16,000 characters can take it half a second.
 */
async function runStepsAt(
  url: string,
  { body }: OperationInfo,
  steps: readonly RequestHandler[],
  request: Request,
): Promise<void> {
  const { url: original, headers } = request
  const given = headers['content-type']
  // Where there is to be a body it would stop without any, and not say what else is wrong.
  const expected = body === 'json' ? 'application/json' : undefined
  request.url = url
  if (given !== expected) headers['content-type'] = expected
  try {
    for (const step of steps) await runStep(step, request)
  } finally {
    request.url = original
    if (given !== expected) headers['content-type'] = given
  }
}

function runStep(step: RequestHandler, request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error === undefined || error === null ? resolve() : reject(error))
    void Promise.resolve(step(request, request.res!, next)).catch(next)
  })
}

/** By the ids of the operations. All servers of a process share them: they follow from the contract alone, and remember nothing of requests. */
const OPENAPI_VALIDATORS = new Map<string, Promise<OpenapiValidator>>()

function getOpenapiValidator(served: readonly OperationInfo[]): Promise<OpenapiValidator> {
  const ids = served.map(({ operationId }) => operationId).join(' ')
  const prepared = OPENAPI_VALIDATORS.get(ids) ?? loadOpenapiValidator(served)
  OPENAPI_VALIDATORS.set(ids, prepared)
  return prepared
}

// Loaded on demand: importing and preparing it costs more than everything else at start.
async function loadOpenapiValidator(served: readonly OperationInfo[]): Promise<OpenapiValidator> {
  const [{ middleware }, { document, facts }] = await Promise.all([
    import('express-openapi-validator'),
    loadValidatorDocument(served),
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
  return { steps: steps as readonly RequestHandler[], routes: new Map(), requirements: facts }
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

function translateOpenapiError(thrown: unknown, found: readonly Problem[], operation: OperationInfo): unknown {
  const { status, errors } = thrown as OpenapiError
  if (status !== 400 || !errors) return thrown
  const others = filterMeaningfulProblems(errors)
    .map(toProblem)
    .filter(({ path }) => path !== MISSING_BODY.path || !found.includes(MISSING_BODY))
  return invalidRequestError([...found, ...removeDuplicateProblems(others)], operation)
}

/** As of the generated validators: a variant's own errors say what is wrong, and not that none fitted, or that it was not meant to be null. */
function filterMeaningfulProblems(errors: readonly OpenapiProblem[]): readonly OpenapiProblem[] {
  const telling = errors.filter(({ errorCode = '' }) => !/^(?:oneOf|anyOf|if)\./.test(errorCode))
  const isMeant = ({ path = '', message }: OpenapiProblem) =>
    message !== 'must be null' ||
    !errors.some((other) => other.path?.startsWith(`${path}/`) || (other.path === path && !isTypeProblem(other)))
  return telling.length > 0 ? telling.filter(isMeant) : errors
}

function isTypeProblem({ errorCode = '' }: OpenapiProblem): boolean {
  return /^(?:type|oneOf|anyOf|if)\./.test(errorCode)
}

function toProblem({ path = '', message = 'is not valid', errorCode }: OpenapiProblem): Problem {
  const code = errorCode?.split('.')[0]
  // It names path parameters `/params/…`; the contract has them under `path`.
  return { path: path.replace(/^\/params\//, '/path/'), message: translateMessage(message), ...(code ? { code } : {}) }
}

const ALLOWED_VALUES_PREFIX = 'must be equal to one of the allowed values: '

/** As the generated validators say it. It joins the values that are allowed, and null becomes nothing at all. */
function translateMessage(message: string): string {
  if (message === 'must NOT have additional properties') return 'is not a known property'
  const pattern = /^must match pattern "(.*)"$/s.exec(message)?.[1]
  if (pattern !== undefined) return describePattern(pattern)
  if (!message.startsWith(ALLOWED_VALUES_PREFIX)) return message
  const values = message.slice(ALLOWED_VALUES_PREFIX.length).split(', ')
  return `must be one of ${values.map((value) => value || 'null').join(', ')}`
}

/** Where what a workflow takes belongs, of operations that run one: beginners put it beside that. */
const INPUT_MEMBERS: Readonly<Record<string, string>> = {
  runWorkflow: 'params',
  preflightWorkflow: 'inputs',
  submitJob: 'inputs',
}

function addInputHint(problem: Problem, member: string): Problem {
  if (problem.code !== 'additionalProperties' || !/^\/body\/[^/]*$/.test(problem.path)) return problem
  return { ...problem, message: `${problem.message}: what the workflow takes belongs in "${member}"` }
}

function invalidRequestError(all: readonly Problem[], operation?: OperationInfo): ServiceError {
  const member = operation && INPUT_MEMBERS[operation.operationId]
  const problems = member === undefined ? all : all.map((problem) => addInputHint(problem, member))
  const [first] = problems
  const message = first ? `${first.path || 'The request'}: ${first.message}${moreProblemsSuffix(problems)}` : undefined
  return new ServiceError('INVALID_REQUEST', { problems, message })
}

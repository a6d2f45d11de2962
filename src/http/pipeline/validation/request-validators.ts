// Validates requests against the contract: with the generated validators for hot operations, else with express-openapi-validator.
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

/** A request that satisfies its schema, with numbers and booleans parsed from text. */
export interface ValidRequest {
  path: Record<string, unknown>
  query: Record<string, unknown>
  headers: Record<string, unknown>
  body: unknown
}

export interface RequestValidators {
  /** @throws INVALID_REQUEST with every problem */
  validate(operation: OperationInfo, request: Request): ValidRequest | Promise<ValidRequest>
  /** Loads and compiles validators that are otherwise loaded at the first request that needs them. */
  warmUp(): Promise<void>
}

/** The route of a request, which the validator looks up by URL before it validates. */
interface ValidatorRoute {
  pathParams: Record<string, unknown>
}

type RoutedRequest = Request & { openapi?: ValidatorRoute }

interface OpenapiValidator {
  steps: readonly RequestHandler[]
  /** By method and operation id. The validator would search all paths for each request, although the router knows the route. */
  routes: Map<string, ValidatorRoute>
  /** By operation id. */
  requirements: ReadonlyMap<string, InputRequirements>
}

/** The tools that validate and parse large bodies. */
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

/** Express splits a wildcard into segments. */
function pathValues({ wildcard }: OperationInfo, params: Request['params']): Record<string, unknown> {
  if (wildcard === null) return { ...params }
  const segments = params[wildcard]
  return { ...params, [wildcard]: Array.isArray(segments) ? segments.join('/') : segments }
}

/** Validates a large body in a worker, with the generated validators for all operations: they stop early. */
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
  const problems = parameters(value) ? [] : toValidationProblems(parameters.errors ?? [])
  const owner = callerKey(request.res!)
  const { verdict, bytes } = await payloads.validateBody(owner, {
    operation: id,
    passed_on: isBodyForwarded(operation),
    bytes: large,
  })
  if (verdict.kind !== 'valid' && verdict.kind !== 'invalid') throw bodyVerdictError(verdict)
  replaceBodyText(request, bytes)
  if (verdict.kind === 'invalid') problems.push(...verdict.problems)
  // Problems of a conversation are described by its messages, so the body is needed.
  if (problems.length === 0 || operation.errors === 'openai') {
    // The value is held until the response closes.
    const release = await payloads.memory.take(owner, verdict.memory_bytes)
    if (request.res!.closed) release()
    else request.res!.once('close', release)
    request.body = await slices.run(owner, makeMeasuredSteps(parseJsonSteps(bytes)))
  }
  if (problems.length > 0) throw invalidRequestError(problems, operation)
  return checkIntegerSyntax(sent, { ...value, body: request.body })
}

/** A copy, in which the validators replace texts by numbers. */
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

/** Up to this number the other validator is fast. The generated ones may stop counting beyond it. */
const MAX_ERRORS = 1_000

/**
 * Refuses a body with very many errors: the other validator would collect all, and copy the earlier ones with each.
 * @throws INVALID_REQUEST with the first errors, after those in `found`
 */
function rejectManyErrors({ operationId }: OperationInfo, { body }: Request, found: readonly Problem[]): void {
  const validate = bodyValidators[operationId as keyof typeof bodyValidators] as Validate | undefined
  if (!validate || validate({ body })) return
  const errors = validate.errors ?? []
  if (errors.length >= MAX_ERRORS || errors.some(({ keyword }) => /^max(?:Items|Properties)$/.test(keyword)))
    throw invalidRequestError([...found, ...toValidationProblems(errors)])
}

/** @throws INVALID_REQUEST for numbers that were not sent as plain digits */
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

/** Finds unknown query parameters and a missing body, at which express-openapi-validator stops, or which it ignores. */
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
 * Runs the steps as if the request had come to `url`, with the only Content-Type that the contract allows, if any; others are refused before. The
 * validator caches a compiled schema for each type forever, and to parse a type of 16,000 characters can take it half a second.
 */
async function runStepsAt(
  url: string,
  { body }: OperationInfo,
  steps: readonly RequestHandler[],
  request: Request,
): Promise<void> {
  const { url: original, headers } = request
  const received = headers['content-type']
  // If a body is required, the validator would stop at a missing Content-Type, and not report other problems.
  const expected = body === 'json' ? 'application/json' : undefined
  request.url = url
  if (received !== expected) headers['content-type'] = expected
  try {
    for (const step of steps) await runStep(step, request)
  } finally {
    request.url = original
    if (received !== expected) headers['content-type'] = received
  }
}

function runStep(step: RequestHandler, request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error === undefined || error === null ? resolve() : reject(error))
    void Promise.resolve(step(request, request.res!, next)).catch(next)
  })
}

/** By operation ids. All servers of a process share the validators: these depend on the contract only, and keep nothing of requests. */
const OPENAPI_VALIDATORS = new Map<string, Promise<OpenapiValidator>>()

function getOpenapiValidator(served: readonly OperationInfo[]): Promise<OpenapiValidator> {
  const ids = served.map(({ operationId }) => operationId).join(' ')
  const prepared = OPENAPI_VALIDATORS.get(ids) ?? loadOpenapiValidator(served)
  OPENAPI_VALIDATORS.set(ids, prepared)
  return prepared
}

// Loaded on demand: to import and prepare this library takes longer than the rest of the start.
async function loadOpenapiValidator(served: readonly OperationInfo[]): Promise<OpenapiValidator> {
  const [{ middleware }, { document, facts }] = await Promise.all([
    import('express-openapi-validator'),
    loadValidatorDocument(served),
  ])
  const steps = middleware({
    apiSpec: document as never,
    validateApiSpec: false,
    // The validator stops at the first unknown query parameter; `findOwnProblems` finds all of them.
    validateRequests: { allowUnknownQueryParameters: true, coerceTypes: false, allErrors: true },
    validateResponses: false,
    validateSecurity: false,
    // The fast formats, its default, accept 30 February; the generated validators use the full ones.
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

/** Matches the generated validators: keeps the errors of a variant itself, and drops that no variant fits, or that a value is not null. */
function filterMeaningfulProblems(errors: readonly OpenapiProblem[]): readonly OpenapiProblem[] {
  const specific = errors.filter(({ errorCode = '' }) => !/^(?:oneOf|anyOf|if)\./.test(errorCode))
  const isMeant = ({ path = '', message }: OpenapiProblem) =>
    message !== 'must be null' ||
    !errors.some((other) => other.path?.startsWith(`${path}/`) || (other.path === path && !isTypeProblem(other)))
  return specific.length > 0 ? specific.filter(isMeant) : errors
}

function isTypeProblem({ errorCode = '' }: OpenapiProblem): boolean {
  return /^(?:type|oneOf|anyOf|if)\./.test(errorCode)
}

function toProblem({ path = '', message = 'is not valid', errorCode }: OpenapiProblem): Problem {
  const code = errorCode?.split('.')[0]
  // The validator names path parameters `/params/…`; the contract names them `/path/…`.
  return { path: path.replace(/^\/params\//, '/path/'), message: translateMessage(message), ...(code ? { code } : {}) }
}

const ALLOWED_VALUES_PREFIX = 'must be equal to one of the allowed values: '

/** Uses the words of the generated validators. express-openapi-validator joins the allowed values, and writes null as an empty string. */
function translateMessage(message: string): string {
  if (message === 'must NOT have additional properties') return 'is not a known property'
  const pattern = /^must match pattern "(.*)"$/s.exec(message)?.[1]
  if (pattern !== undefined) return describePattern(pattern)
  if (!message.startsWith(ALLOWED_VALUES_PREFIX)) return message
  const values = message.slice(ALLOWED_VALUES_PREFIX.length).split(', ')
  return `must be one of ${values.map((value) => value || 'null').join(', ')}`
}

/** The member for the inputs of a workflow. Beginners often put the inputs beside it. */
const INPUT_MEMBERS: Readonly<Record<string, string>> = {
  runWorkflow: 'params',
  preflightWorkflow: 'inputs',
  submitJob: 'inputs',
}

function addInputHint(problem: Problem, member: string): Problem {
  if (problem.code !== 'additionalProperties' || !/^\/body\/[^/]*$/.test(problem.path)) return problem
  return { ...problem, message: `${problem.message}: put inputs of the workflow in "${member}"` }
}

function invalidRequestError(all: readonly Problem[], operation?: OperationInfo): ServiceError {
  const member = operation && INPUT_MEMBERS[operation.operationId]
  const problems = member === undefined ? all : all.map((problem) => addInputHint(problem, member))
  const [first] = problems
  const message = first ? `${first.path || 'The request'}: ${first.message}${moreProblemsSuffix(problems)}` : undefined
  return new ServiceError('INVALID_REQUEST', { problems, message })
}

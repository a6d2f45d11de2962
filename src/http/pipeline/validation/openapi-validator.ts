// Validates requests with express-openapi-validator, and finds the problems that it does not report.
import type { Request, RequestHandler } from 'express'
import type { OperationInfo } from '../../../../generated/operations.ts'
import { bodyValidators, type Validate } from '../../../../generated/validators.js'
import type { Problem } from '../../../errors.ts'
import { appendToPointer, toValidationProblems } from '../../../shared/validation-problems.ts'
import { checkIntegerSyntax } from './integer-syntax.ts'
import { invalidRequestError } from './invalid-request-error.ts'
import { formatValidatorUrl, type InputRequirements, loadValidatorDocument } from './openapi-validator-document.ts'
import { MISSING_BODY, translateOpenapiError } from './openapi-validator-problems.ts'
import { pathValues, type ValidRequest } from './valid-request.ts'

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

export async function validateByOpenapi(
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

export function getOpenapiValidator(served: readonly OperationInfo[]): Promise<OpenapiValidator> {
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

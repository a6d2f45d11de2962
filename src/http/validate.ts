// Requests against the contract: express-openapi-validator for the HTTP surface, the generated validators for its hot operations.
import type { Request, RequestHandler } from 'express'
import type { OperationInfo } from '../../generated/operations.ts'
import { requestValidators } from '../../generated/validators.js'
import { type Problem, ServiceError } from '../errors.ts'
import { pointer, problemsOf } from '../problems.ts'
import { type QueryNames, validatorDocument, validatorUrl } from './document.ts'

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

interface Openapi {
  steps: readonly RequestHandler[]
  /** Names of the query parameters by operation. */
  query: QueryNames
}

export function createValidators(served: readonly OperationInfo[]): Validators {
  let loading: Promise<Openapi> | null = null
  const openapi = () => {
    loading ??= loadOpenapi(served)
    return loading
  }
  return {
    validate(operation, request) {
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

function precompiled(operation: OperationInfo, request: Request): ValidRequest {
  const value = asSent(operation, request)
  const validate = requestValidators[operation.operationId as keyof typeof requestValidators]
  if (!validate(value)) throw invalidRequest(problemsOf(validate.errors ?? []))
  return value
}

async function throughOpenapi(
  openapi: Promise<Openapi>,
  operation: OperationInfo,
  request: Request,
): Promise<ValidRequest> {
  const { steps, query } = await openapi
  const unknown = unknownQuery(query.get(operation.operationId), request)
  try {
    await runAt(validatorUrl(operation, pathValues(operation, request.params), search(request)), steps, request)
  } catch (error) {
    throw fromOpenapi(error, unknown, request)
  }
  if (unknown.length > 0) throw invalidRequest(unknown)
  // The validator makes `query` the request's own property and coerces it in place.
  return { path: request.params, query: { ...request.query }, headers: request.headers, body: request.body }
}

function unknownQuery(known: ReadonlySet<string> | undefined, request: Request): Problem[] {
  return Object.keys(request.query)
    .filter((name) => !known?.has(name))
    .map((name) => ({ path: pointer('/query', name), message: 'is not a known parameter', code: 'unknown_parameter' }))
}

function search({ url }: Request): string {
  const at = url.indexOf('?')
  return at < 0 ? '' : url.slice(at)
}

/** Runs the steps as if the request had come to `url`. */
async function runAt(url: string, steps: readonly RequestHandler[], request: Request): Promise<void> {
  const original = request.url
  request.url = url
  try {
    for (const step of steps) await run(step, request)
  } finally {
    request.url = original
  }
}

function run(step: RequestHandler, request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error === undefined || error === null ? resolve() : reject(error))
    void Promise.resolve(step(request, request.res!, next)).catch(next)
  })
}

// Loaded on demand: importing and preparing it costs more than everything else at start.
async function loadOpenapi(served: readonly OperationInfo[]): Promise<Openapi> {
  const [{ middleware }, { document, query }] = await Promise.all([
    import('express-openapi-validator'),
    validatorDocument(served),
  ])
  const steps = middleware({
    apiSpec: document as never,
    validateApiSpec: false,
    // It stops at the first unknown query parameter; `unknownQuery` finds all, beside every other problem.
    validateRequests: { allowUnknownQueryParameters: true, coerceTypes: false, allErrors: true },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
    useRequestUrl: true,
  })
  return { steps: steps as readonly RequestHandler[], query }
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

const NO_BODY: Problem = { path: '/body', message: 'is required', code: 'required' }

function fromOpenapi(thrown: unknown, unknown: readonly Problem[], request: Request): unknown {
  const { status, errors } = thrown as OpenapiError
  // Without a body there is no content type either, and it complains of that; a wrong one does not come this far.
  if (status === 415 && request.body === undefined) return invalidRequest([...unknown, NO_BODY])
  if (status !== 400 || !errors) return thrown
  return invalidRequest([...unknown, ...errors.map(problemOf)])
}

function problemOf({ path = '', message = 'is not valid', errorCode }: OpenapiProblem): Problem {
  const code = errorCode?.split('.')[0]
  // It names path parameters `/params/…`; the contract has them under `path`.
  return { path: path.replace(/^\/params\//, '/path/'), message, ...(code ? { code } : {}) }
}

function invalidRequest(problems: readonly Problem[]): ServiceError {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const message = first ? `${first.path || 'The request'}: ${first.message}${more}` : undefined
  return new ServiceError('INVALID_REQUEST', { problems, message })
}

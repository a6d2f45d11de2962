// Requests against the contract: express-openapi-validator for the HTTP surface, the generated validators for its hot operations.
import type { Request, RequestHandler } from 'express'
import type { OperationInfo } from '../../generated/operations.ts'
import { requestValidators } from '../../generated/validators.js'
import { type Problem, ServiceError } from '../errors.ts'
import { problemsOf } from '../problems.ts'
import { validatorDocument } from './document.ts'

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

type Steps = readonly RequestHandler[]

export function createValidators(served: readonly OperationInfo[]): Validators {
  let steps: Promise<Steps> | null = null
  const openapi = () => {
    steps ??= openapiSteps(served)
    return steps
  }
  return {
    validate(operation, request) {
      return operation.validation === 'precompiled'
        ? precompiled(operation, request)
        : throughOpenapi(openapi(), request)
    },
    async warmUp() {
      await openapi()
    },
  }
}

function precompiled(operation: OperationInfo, request: Request): ValidRequest {
  const value: ValidRequest = {
    path: { ...request.params },
    query: { ...request.query },
    headers: request.headers,
    body: request.body,
  }
  const validate = requestValidators[operation.operationId as keyof typeof requestValidators]
  if (!validate(value)) throw invalidRequest(problemsOf(validate.errors ?? []))
  return value
}

async function throughOpenapi(steps: Promise<Steps>, request: Request): Promise<ValidRequest> {
  for (const step of await steps) await run(step, request)
  // The validator makes `query` the request's own property and coerces it in place.
  return { path: request.params, query: { ...request.query }, headers: request.headers, body: request.body }
}

function run(step: RequestHandler, request: Request): Promise<void> {
  return new Promise((resolve, reject) => {
    const next = (error?: unknown) => (error === undefined || error === null ? resolve() : reject(fromOpenapi(error)))
    void Promise.resolve(step(request, request.res!, next)).catch(next)
  })
}

// Loaded on demand: importing and preparing it costs more than everything else at start.
async function openapiSteps(served: readonly OperationInfo[]): Promise<Steps> {
  const { middleware } = await import('express-openapi-validator')
  const steps = middleware({
    apiSpec: await validatorDocument(served),
    validateApiSpec: false,
    validateRequests: { allowUnknownQueryParameters: false, coerceTypes: false },
    validateResponses: false,
    validateSecurity: false,
    fileUploader: false,
    ajvFormats: { mode: 'full' },
  } as Parameters<typeof middleware>[0])
  return steps as Steps
}

interface OpenapiError {
  status?: unknown
  errors?: readonly { path?: string; message?: string; errorCode?: string }[]
}

function fromOpenapi(thrown: unknown): unknown {
  const { status, errors } = thrown as OpenapiError
  if (status === 415) return new ServiceError('UNSUPPORTED_MEDIA_TYPE', { cause: thrown })
  if (status !== 400 || !errors) return thrown
  return invalidRequest(
    errors.map(({ path, message, errorCode }) => ({
      path: pointerOf(path ?? ''),
      message: message ?? 'is not valid',
      ...(errorCode ? { code: errorCode.split('.')[0] as string } : {}),
    })),
  )
}

// It names path parameters `/params/…`; ours are where the contract has them.
function pointerOf(path: string): string {
  return path.replace(/^\/params\//, '/path/')
}

function invalidRequest(problems: readonly Problem[]): ServiceError {
  const [first] = problems
  const more = problems.length > 1 ? ` (and ${problems.length - 1} more)` : ''
  const message = first ? `${first.path || 'The request'}: ${first.message}${more}` : undefined
  return new ServiceError('INVALID_REQUEST', { problems, message })
}

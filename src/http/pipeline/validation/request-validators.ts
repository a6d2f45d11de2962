// Validates requests against the contract: with the generated validators for hot operations, else with express-openapi-validator.
import type { Request } from 'express'
import type { OperationInfo } from '../../../../generated/operations.ts'
import {
  type bodyValidators,
  parameterValidators,
  requestValidators,
  type Validate,
} from '../../../../generated/validators.js'
import { makeMeasuredSteps } from '../../../engine/node-api/values/measure.ts'
import { parseJsonSteps } from '../../../payloads/incremental-json-parser.ts'
import type { PayloadValidator } from '../../../payloads/payload-validator.ts'
import type { TimeSliceScheduler } from '../../../shared/time-slices.ts'
import { toValidationProblems } from '../../../shared/validation-problems.ts'
import { bodyVerdictError, replaceBodyText, takeLargeBody } from '../../body/json-body.ts'
import { callerKey } from '../response-locals.ts'
import { isBodyForwarded } from '../served-operations.ts'
import { checkIntegerSyntax } from './integer-syntax.ts'
import { invalidRequestError } from './invalid-request-error.ts'
import { getOpenapiValidator, validateByOpenapi } from './openapi-validator.ts'
import { readSentValues, type ValidRequest } from './valid-request.ts'

export interface RequestValidators {
  /** @throws INVALID_REQUEST with every problem */
  validate(operation: OperationInfo, request: Request): ValidRequest | Promise<ValidRequest>
  /** Loads and compiles validators that are otherwise loaded at the first request that needs them. */
  warmUp(): Promise<void>
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

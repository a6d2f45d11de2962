// The HTTP transport: an Express application whose routes come from the contract's manifest. Each request passes these steps in order: rate limit;
// pipelining; Host header; CORS preflight; public operations; authentication; path and method; content type, validation, handler.
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express'
import type { OperationInfo } from '../../generated/operations.ts'
import { toCallerError } from '../access/caller-errors.ts'
import { readRequestFacts } from '../access/request-facts.ts'
import type { AppContext } from '../context.ts'
import { ServiceError } from '../errors.ts'
import { REQUEST_TIMEOUT_SECONDS, withRequestTimeout } from '../lifecycle/request-timeout.ts'
import { createJsonBodyParser, createTextBodyParser, translateParserError } from './body/json-body.ts'
import { releaseBodyMemory, reserveBodyMemory } from './body/memory-reservation.ts'
import { requireMultipartForm } from './body/multipart/uploads.ts'
import { rejectExcessRequests } from './connection/pipelining.ts'
import { closeIfBodyUnread } from './connection/unread-body.ts'
import { httpHandlers } from './handlers/handler-table.ts'
import {
  auditAdministration,
  authenticateRequest,
  checkAccess,
  refuseUnauthorized,
  watchCredential,
} from './pipeline/access-control.ts'
import { allowCrossOriginRead, answerCorsPreflight } from './pipeline/cors.ts'
import { HandlerContext } from './pipeline/handler-context.ts'
import { enforceRateLimits } from './pipeline/rate-limits.ts'
import { errorFormatOf, type HandlerReply, sendError, sendReply } from './pipeline/reply.ts'
import { type RequestContext, resolveRequestId } from './pipeline/request-context.ts'
import {
  countRequest,
  createUnhandledRequestCounter,
  type UnhandledRequestCounter,
} from './pipeline/request-metrics.ts'
import { RequestScheduler } from './pipeline/request-scheduler.ts'
import { callerKey, localsOf, requestFactsOf } from './pipeline/response-locals.ts'
import { findRouteHint } from './pipeline/route-hints.ts'
import { createOperationFinder, groupByPath, listAllowedMethods, toExpressPaths } from './pipeline/route-paths.ts'
import { allowCrossOriginUse, setSecurityHeaders } from './pipeline/security-headers.ts'
import { isBodyForwarded, isSwitchedOff, listServedOperations } from './pipeline/served-operations.ts'
import { authorizeSignedUrl, isSignable } from './pipeline/signed-urls.ts'
import { simplifyOpenaiProblems } from './pipeline/validation/openai-problems.ts'
import { createRequestValidators, type RequestValidators } from './pipeline/validation/request-validators.ts'
import type { ValidRequest } from './pipeline/validation/valid-request.ts'

const MISSING_HOST_MESSAGE = 'The request has no Host header. HTTP/1.1 requires one.'

interface PipelineTools {
  context: AppContext
  validators: RequestValidators
  scheduler: RequestScheduler
  parseJson: RequestHandler
  /** For operations with a time limit. */
  parseTimedJson: RequestHandler
  /** For operations that forward their body. */
  parseText: RequestHandler
}

/** Times in milliseconds. */
interface RequestTimeouts {
  /** From the head of a request of the lifecycle profile to the end of its body. */
  sdk_body_ms?: number | undefined
}

type OperationHandlerFunction = (request: ValidRequest, context: RequestContext) => HandlerReply | Promise<HandlerReply>

/** Creates the application. It can be served at once; validators of rare operations are compiled when they are first needed. */
export function createApp(
  context: AppContext,
  { sdk_body_ms = REQUEST_TIMEOUT_SECONDS * 1_000 }: RequestTimeouts = {},
): { app: Express; warmUp: () => Promise<void> } {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('case sensitive routing', true)
  app.set('strict routing', true)
  app.set('query parser', 'simple')
  const served = listServedOperations(context.config)
  const scheduler = new RequestScheduler()
  const tools: PipelineTools = {
    context,
    validators: createRequestValidators(served, { ...context.transport, ...context.schedulers }),
    scheduler,
    parseJson: createJsonBodyParser(scheduler, context.config.max_body_bytes),
    parseTimedJson: createJsonBodyParser(scheduler, context.config.max_body_bytes, sdk_body_ms),
    parseText: createTextBodyParser(scheduler, context.config.max_body_bytes),
  }
  const findOperations = createOperationFinder(served)
  app.use(startRequest(context))
  app.use(enforceRateLimits(context.access.rate_limiter, findOperations, requestFactsOf))
  app.use(rejectExcessRequests)
  app.use(requireHost)
  app.use(answerCorsPreflight(context.config, findOperations, requestFactsOf))
  for (const operations of groupByPath(served.filter(isPublic))) mountOperations(app, operations, tools)
  const admit = authorizeSignedUrl(context, (response) => {
    localsOf(response).signed = true
    allowCrossOriginUse(response)
  })
  mountOperations(app, served.filter(isSignable), tools, admit)
  const countUnhandled = createUnhandledRequestCounter(context, findOperations)
  app.use(authenticateRequest(context.access, countUnhandled))
  for (const operations of groupByPath(served)) {
    const others = operations.filter((operation) => !isPublic(operation))
    mountOperations(app, others, tools)
    app.route(toExpressPaths(operations[0]!)).all(rejectOtherMethods(listAllowedMethods(operations)))
  }
  app.use(rejectUnknownPath)
  app.use(createErrorHandler(context, findOperations, countUnhandled))
  return { app, warmUp: () => tools.validators.warmUp() }
}

function startRequest({ access, config, platform }: AppContext): RequestHandler {
  return (request, response, next) => {
    closeIfBodyUnread(request, response)
    const request_id = resolveRequestId(request, platform)
    localsOf(response).request_id = request_id
    const facts = readRequestFacts(request, 'http', access.own_requests)
    localsOf(response).facts = facts
    response.setHeader('X-Request-Id', request_id)
    setSecurityHeaders(response)
    allowCrossOriginRead(facts, config, response)
    next()
  }
}

/** RFC 9112, section 3.2. Authentication treats a request with several Host headers as a request without a host. */
const requireHost: RequestHandler = ({ httpVersion, headers }, _response, next) => {
  if (httpVersion === '1.1' && headers.host === undefined)
    throw new ServiceError('INVALID_REQUEST', { message: MISSING_HOST_MESSAGE })
  next()
}

function isPublic({ access }: OperationInfo): boolean {
  return access === 'public'
}

/** Adds routes for operations, with further steps first. */
function mountOperations(
  app: Express,
  operations: readonly OperationInfo[],
  tools: PipelineTools,
  ...first: RequestHandler[]
): void {
  // A route for GET also takes HEAD, so a HEAD operation comes before it.
  const heads = operations.filter(({ method }) => method === 'head')
  for (const operation of new Set([...heads, ...operations])) {
    const method = operation.method as 'head' | 'get' | 'put' | 'post' | 'delete'
    app[method](toExpressPaths(operation), ...first, ...createPipeline(operation, tools))
  }
}

function createPipeline(operation: OperationInfo, tools: PipelineTools): RequestHandler[] {
  const { context, validators, scheduler } = tools
  const steps: RequestHandler[] = [checkAccess(operation, context.config)]
  if (!isPublic(operation)) steps.push(watchCredential(context.access))
  if (operation.access === 'administrator') steps.push(auditAdministration(operation, context.access.audit))
  if (isSwitchedOff(operation, context.config)) steps.push(rejectSwitchedOff)
  if (operation.body === 'json')
    steps.push(
      reserveBodyMemory(context.transport.payloads.received, context.config.max_body_bytes),
      selectBodyParser(operation, tools),
    )
  if (operation.body === 'multipart') steps.push(requireMultipartBody)
  const handle = (httpHandlers as unknown as Record<string, Record<string, OperationHandlerFunction>>)[operation.tag]![
    operation.operationId
  ]!
  steps.push((_request, response, next) => scheduler.schedule(workOwnerOf(response, operation), next))
  steps.push(async (request, response, next) => {
    try {
      const valid = await validators.validate(operation, request)
      if (!isBodyForwarded(operation)) releaseBodyMemory(request)
      const { credential } = localsOf(response)
      if (operation.body === 'json') await credential?.confirmAfterBody()
      const respond = (deadline?: AbortSignal) => handle(valid, new HandlerContext(context, response, deadline))
      const reply = await (hasTimeLimit(operation) ? withRequestTimeout(respond) : respond())
      const logBodyError = (error: Error) => {
        if (error instanceof ServiceError && error.status < 500) return
        context.log.error({ err: error, operation: operation.operationId }, 'response body failed')
      }
      credential?.beginReply(reply.body)
      await sendReply(response, reply, {
        ...context.schedulers,
        held: context.transport.response_buffers,
        owner: workOwnerOf(response, operation),
        onBodyError: logBodyError,
      })
      countRequest(context, operation.operationId, reply.status)
    } catch (error) {
      // The client is gone, and a cancelled call is no failure.
      if (response.destroyed && isAbort(error)) countRequest(context, operation.operationId, CLIENT_CLOSED_REQUEST)
      else next(operation.errors === 'openai' ? simplifyOpenaiProblems(error, request.body) : error)
    }
  })
  return steps
}

/** The owner whose turns and time slices a request takes. Without a principal, operations of a caller delay only requests of the same operation. */
function workOwnerOf(response: Response, { operationId }: OperationInfo): string {
  const caller = callerKey(response)
  return localsOf(response).principal ? caller : `${caller} ${operationId}`
}

/** Not a status of HTTP, but common in the counts of servers. */
const CLIENT_CLOSED_REQUEST = 499

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

function selectBodyParser(operation: OperationInfo, tools: PipelineTools): RequestHandler {
  if (hasTimeLimit(operation)) return tools.parseTimedJson
  return isBodyForwarded(operation) ? tools.parseText : tools.parseJson
}

/** All operations of the lifecycle profile but uploads, which take as long as their bytes do. */
function hasTimeLimit({ errors, body }: OperationInfo): boolean {
  return errors === 'sdk' && body !== 'multipart'
}

/** For a known path with another method: 405, or for OPTIONS the allowed methods. */
function rejectOtherMethods(allow: string): RequestHandler {
  return (request, response) => {
    if (request.method !== 'OPTIONS') throw new ServiceError('METHOD_NOT_ALLOWED', { headers: { Allow: allow } })
    response.setHeader('Allow', allow)
    response.status(204).end()
  }
}

const requireMultipartBody: RequestHandler = (request, _response, next) => {
  requireMultipartForm(request)
  next()
}

const rejectSwitchedOff: RequestHandler = () => {
  throw new ServiceError('SDK_LIFECYCLE_DISABLED')
}

const rejectUnknownPath: RequestHandler = ({ method, path }) => {
  throw new ServiceError('NOT_FOUND', { message: findRouteHint(method, path) })
}

function createErrorHandler(
  context: AppContext,
  findOperations: ReturnType<typeof createOperationFinder>,
  countUnhandled: UnhandledRequestCounter,
): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const { facts, principal, request_id, credential } = localsOf(response)
    const error = toCallerError(translateParserError(thrown), principal, context.users.redactor)
    if (credential?.refusal && !response.headersSent && !response.destroyed) {
      for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value)
      refuseUnauthorized(context.access, response, credential.refusal)
      return countUnhandled(request, response.statusCode)
    }
    if (error.code === 'FORBIDDEN' || error.code === 'RATE_LIMITED')
      context.access.audit.recordRefusal({ facts, method: request.method, reason: error.code, principal, request_id })
    const format = findOperations(request.path)[0]?.errors ?? errorFormatOf(request.path)
    sendError(response, error, format, context.log, request_id)
    countUnhandled(request, error.status)
  }
}

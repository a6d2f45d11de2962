// The HTTP door: one Express application, its routes made from the contract's manifest.
// Order for every request: the limit of its caller; its turn on its connection; its Host header; browsers that ask first; public operations; then who calls; then
// path and method; then content type, validation, the handler.
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express'
import type { OperationInfo } from '../../generated/operations.ts'
import { requestFacts } from '../access/facts.ts'
import type { AppContext } from '../context.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { inTime, REQUEST_TIMEOUT_SECONDS } from '../lifecycle/request-time.ts'
import { authenticate, checkAccess, tellAdministration } from './admission.ts'
import { fromBodyParser, jsonBody, textBody } from './body.ts'
import { leaveRoom, roomForBody } from './body-room.ts'
import { preflight, shareWith } from './cors.ts'
import { type Counted, count, countByClaim } from './counting.ts'
import { FairLine } from './fair-line.ts'
import { HandlerContext } from './handler-context.ts'
import { handlers } from './handlers.ts'
import { limit } from './limits.ts'
import { callerKey, factsOf, localsOf } from './locals.ts'
import { requireForm } from './multipart.ts'
import { meantProblems } from './openai-problems.ts'
import { allowedMethods, byPath, claimFinder, expressPaths } from './paths.ts'
import { type AnyReply, doorOf, sendError, sendReply } from './reply.ts'
import { type RequestContext, requestId } from './request.ts'
import { secure, showAnywhere } from './security.ts'
import { handsOn, servedOperations, switchedOff } from './served.ts'
import { bySignature, takesSignature } from './signed.ts'
import { signpostOf } from './signposts.ts'
import { refuseTooMany } from './turns.ts'
import { closeIfUnread } from './unread.ts'
import { createValidators, type Validators, type ValidRequest } from './validate.ts'

const NO_HOST = 'The request has no Host header. HTTP/1.1 asks for one.'

interface Tools {
  context: AppContext
  validators: Validators
  line: FairLine
  parseJson: RequestHandler
  /** Of operations that have a limit of time. */
  parseTimedJson: RequestHandler
  /** Of operations that hand their body on. */
  parseText: RequestHandler
}

/** Times in milliseconds. */
interface RequestTimes {
  /** From the head of a request of the lifecycle profile to the end of its body. */
  sdk_body_ms?: number | undefined
}

type AnyHandler = (request: ValidRequest, context: RequestContext) => AnyReply | Promise<AnyReply>

/** The application. It may be served at once; validators of seldom-used operations are compiled when they are first needed. */
export function createApp(
  context: AppContext,
  { sdk_body_ms = REQUEST_TIMEOUT_SECONDS * 1_000 }: RequestTimes = {},
): { app: Express; warmUp: () => Promise<void> } {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('case sensitive routing', true)
  app.set('strict routing', true)
  app.set('query parser', 'simple')
  const served = servedOperations(context.config)
  const line = new FairLine()
  const tools: Tools = {
    context,
    validators: createValidators(served, context),
    line,
    parseJson: jsonBody(line, context.config.max_body_bytes),
    parseTimedJson: jsonBody(line, context.config.max_body_bytes, sdk_body_ms),
    parseText: textBody(line, context.config.max_body_bytes),
  }
  const claims = claimFinder(served)
  app.use(begin(context))
  app.use(limit(context.limiter, claims, factsOf))
  app.use(refuseTooMany)
  app.use(requireHost)
  app.use(preflight(context.config, claims, factsOf))
  for (const operations of byPath(served.filter(isPublic))) mount(app, operations, tools)
  const admit = bySignature(context, (response) => {
    localsOf(response).signed = true
    showAnywhere(response)
  })
  mount(app, served.filter(takesSignature), tools, admit)
  const counted = countByClaim(context, claims)
  app.use(authenticate(context, counted))
  for (const operations of byPath(served)) {
    const others = operations.filter((operation) => !isPublic(operation))
    mount(app, others, tools)
    app.route(expressPaths(operations[0]!)).all(otherMethod(allowedMethods(operations)))
  }
  app.use(nothingHere)
  app.use(failed(context, claims, counted))
  return { app, warmUp: () => tools.validators.warmUp() }
}

function begin({ config, platform, own_requests }: AppContext): RequestHandler {
  return (request, response, next) => {
    closeIfUnread(request, response)
    const request_id = requestId(request, platform)
    localsOf(response).request_id = request_id
    const facts = requestFacts(request, 'http', own_requests)
    localsOf(response).facts = facts
    response.setHeader('X-Request-Id', request_id)
    secure(response)
    shareWith(facts, config, response)
    next()
  }
}

/** RFC 9112, section 3.2. The gate judges a request with several Host headers: it counts as one without a host. */
const requireHost: RequestHandler = ({ httpVersion, headers }, _response, next) => {
  if (httpVersion === '1.1' && headers.host === undefined)
    throw new ServiceError('INVALID_REQUEST', { message: NO_HOST })
  next()
}

function isPublic({ access }: OperationInfo): boolean {
  return access === 'public'
}

/** Routes the operations of one path, behind a first step if one is given. */
function mount(app: Express, operations: readonly OperationInfo[], tools: Tools, ...first: RequestHandler[]): void {
  // A route for GET takes HEAD as well, so one of its own comes before.
  const heads = operations.filter(({ method }) => method === 'head')
  for (const operation of new Set([...heads, ...operations])) {
    const method = operation.method as 'head' | 'get' | 'put' | 'post' | 'delete'
    app[method](expressPaths(operation), ...first, ...stepsOf(operation, tools))
  }
}

function stepsOf(operation: OperationInfo, tools: Tools): RequestHandler[] {
  const { context, validators, line } = tools
  const steps: RequestHandler[] = [checkAccess(operation, context.config)]
  if (operation.access === 'administrator') steps.push(tellAdministration(operation, context.audit))
  if (switchedOff(operation, context.config)) steps.push(saySwitchedOff)
  if (operation.body === 'json')
    steps.push(roomForBody(context.payloads.received, context.config.max_body_bytes), parserOf(operation, tools))
  if (operation.body === 'multipart') steps.push(formBody)
  const handle = (handlers as unknown as Record<string, Record<string, AnyHandler>>)[operation.tag]![
    operation.operationId
  ]!
  steps.push((_request, response, next) => line.enter(ownerOf(response, operation), next))
  steps.push(async (request, response, next) => {
    try {
      const valid = await validators.validate(operation, request)
      if (!handsOn(operation)) leaveRoom(request)
      const answer = (late?: AbortSignal) => handle(valid, new HandlerContext(context, response, late))
      const reply = await (isTimed(operation) ? inTime(answer) : answer())
      const fault = (error: Error) => {
        if (error instanceof ServiceError && error.status < 500) return
        context.log.error({ err: error, operation: operation.operationId }, 'a body broke off')
      }
      const { slices, reading, held } = context
      await sendReply(response, reply, { slices, reading, held, owner: ownerOf(response, operation), fault })
      count(context, operation.operationId, reply.status)
    } catch (error) {
      // Nobody is left to be told, and what was called off is no failure.
      if (response.destroyed && isAbort(error)) count(context, operation.operationId, CLIENT_GONE)
      else next(operation.errors === 'openai' ? meantProblems(error, request.body) : error)
    }
  })
  return steps
}

/** Whose turns and time slices a request takes. What everybody may ask for delays its own kind only, of the same caller. */
function ownerOf(response: Response, { operationId }: OperationInfo): string {
  const caller = callerKey(response)
  return localsOf(response).principal ? caller : `${caller} ${operationId}`
}

/** No status of HTTP, but what others count by. */
const CLIENT_GONE = 499

function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

function parserOf(operation: OperationInfo, tools: Tools): RequestHandler {
  if (isTimed(operation)) return tools.parseTimedJson
  return handsOn(operation) ? tools.parseText : tools.parseJson
}

/** Of the lifecycle profile, all but uploads: these take as long as their bytes do. */
function isTimed({ errors, body }: OperationInfo): boolean {
  return errors === 'sdk' && body !== 'multipart'
}

/** A path that is served, with a method that it does not take: 405, and what it does take for OPTIONS. */
function otherMethod(allow: string): RequestHandler {
  return (request, response) => {
    if (request.method !== 'OPTIONS') throw new ServiceError('METHOD_NOT_ALLOWED', { headers: { Allow: allow } })
    response.setHeader('Allow', allow)
    response.status(204).end()
  }
}

const formBody: RequestHandler = (request, _response, next) => {
  requireForm(request)
  next()
}

const saySwitchedOff: RequestHandler = () => {
  throw new ServiceError('SDK_LIFECYCLE_DISABLED')
}

const nothingHere: RequestHandler = ({ method, path }) => {
  throw new ServiceError('NOT_FOUND', { message: signpostOf(method, path) })
}

function failed(context: AppContext, claims: ReturnType<typeof claimFinder>, counted: Counted): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = toServiceError(fromBodyParser(thrown))
    const { facts, principal, request_id } = localsOf(response)
    if (error.code === 'FORBIDDEN' || error.code === 'RATE_LIMITED')
      context.audit.refused({ facts, method: request.method, reason: error.code, principal, request_id })
    const door = claims(request.path)[0]?.errors ?? doorOf(request.path)
    sendError(response, error, door, context.log, request_id)
    counted(request, error.status)
  }
}

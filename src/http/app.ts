// The HTTP door: one Express application, its routes made from the contract's manifest.
// Order for every request: public operations; then who calls; then path and method; then content type, validation, the handler.
import express, { type ErrorRequestHandler, type Express, type RequestHandler, type Response } from 'express'
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import { localPrincipal, requestFacts } from '../access/local.ts'
import type { Principal } from '../access/principal.ts'
import type { AppContext } from '../context.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { fromBodyParser, requireJson } from './body.ts'
import { handlers } from './handlers.ts'
import { expressPaths, methodFinder } from './paths.ts'
import { type AnyReply, doorOf, sendError, sendRefusal, sendReply } from './reply.ts'
import { type RequestContext, requestId } from './request.ts'
import { createValidators, type Validators, type ValidRequest } from './validate.ts'

interface Locals {
  request_id: string
  principal: Principal | null
}

interface Tools {
  context: AppContext
  validators: Validators
  parseJson: RequestHandler
}

type AnyHandler = (request: ValidRequest, context: RequestContext) => AnyReply | Promise<AnyReply>

/** The application. It may be served at once; validators of seldom-used operations are compiled when they are first needed. */
export function createApp(context: AppContext): { app: Express; warmUp: () => Promise<void> } {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('case sensitive routing', true)
  app.set('strict routing', true)
  app.set('query parser', 'simple')
  const served = operationManifest.filter((operation) => operation.implementation === 'implemented')
  const tools: Tools = {
    context,
    validators: createValidators(served),
    parseJson: express.json({ limit: context.config.max_body_bytes, strict: false, type: () => true }),
  }
  app.use(begin(context))
  for (const operation of served.filter(({ access }) => access === 'public')) mount(app, operation, tools)
  app.use(authenticate(context))
  for (const operation of served.filter(({ access }) => access !== 'public')) mount(app, operation, tools)
  app.use(nothingHere(served))
  app.use(failed(context))
  return { app, warmUp: () => tools.validators.warmUp() }
}

function localsOf(response: Response): Locals {
  return response.locals as Locals
}

function begin({ platform }: AppContext): RequestHandler {
  return (request, response, next) => {
    const request_id = requestId(request, platform)
    localsOf(response).request_id = request_id
    response.setHeader('X-Request-Id', request_id)
    response.setHeader('X-Content-Type-Options', 'nosniff')
    next()
  }
}

function authenticate({ config }: AppContext): RequestHandler {
  return (request, response, next) => {
    const principal = localPrincipal(requestFacts(request), config)
    if (!principal) return sendRefusal(request, response, 'Remote access requires authentication')
    localsOf(response).principal = principal
    next()
  }
}

function mount(app: Express, operation: OperationInfo, { context, validators, parseJson }: Tools): void {
  const steps: RequestHandler[] = [checkAccess(operation)]
  if (operation.body === 'json') steps.push(requireJson, parseJson)
  const handle = (handlers as unknown as Record<string, Record<string, AnyHandler>>)[operation.tag]![
    operation.operationId
  ]!
  steps.push(async (request, response, next) => {
    try {
      const valid = await validators.validate(operation, request)
      const reply = await handle(valid, requestContext(context, response))
      sendReply(response, reply)
    } catch (error) {
      next(error)
    }
  })
  const method = operation.method as 'get' | 'put' | 'post' | 'delete'
  for (const path of expressPaths(operation)) app[method](path, ...steps)
}

function checkAccess({ access }: OperationInfo): RequestHandler {
  return (_request, response, next) => {
    if (access === 'administrator' && !localsOf(response).principal?.administrator) throw new ServiceError('FORBIDDEN')
    next()
  }
}

function requestContext(app: AppContext, response: Response): RequestContext {
  const locals = localsOf(response)
  let signal: AbortSignal | null = null
  return {
    app,
    request_id: locals.request_id,
    get principal() {
      if (!locals.principal) throw new Error('a public operation has no principal')
      return locals.principal
    },
    // Made only for handlers that watch for it: most never do.
    get signal() {
      signal ??= closeSignal(response)
      return signal
    },
  }
}

function closeSignal(response: Response): AbortSignal {
  const controller = new AbortController()
  response.once('close', () => controller.abort())
  return controller.signal
}

/** 404 for an unknown path, 405 with `Allow` for a known one with another method. */
function nothingHere(served: readonly OperationInfo[]): RequestHandler {
  const methodsOf = methodFinder(served)
  return (request, response) => {
    const methods = methodsOf(request.path)
    if (methods.length === 0) throw new ServiceError('NOT_FOUND')
    if (request.method === 'OPTIONS') {
      response.setHeader('Allow', methods.join(', '))
      response.status(204).end()
      return
    }
    throw new ServiceError('METHOD_NOT_ALLOWED', { headers: { Allow: methods.join(', ') } })
  }
}

function failed({ log }: AppContext): ErrorRequestHandler {
  return (thrown, request, response, _next) => {
    const error = toServiceError(fromBodyParser(thrown))
    // The rest of a body that is too large is not read: the connection cannot serve another request.
    if (error.status === 413) response.setHeader('Connection', 'close')
    sendError(response, error, doorOf(request.path), log, localsOf(response).request_id)
  }
}

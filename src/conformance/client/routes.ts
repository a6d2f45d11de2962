// Maps HTTP requests to calls and their data.
import type { ClientCallName } from './call.ts'
import { isMap, type JsonMap } from './frame-codec.ts'

export interface RoutedCall {
  readonly name: ClientCallName
  readonly data: JsonMap
}

interface Route {
  readonly method: string
  /** Path segments. Those that begin with `:` are parameters. */
  readonly path: string
  readonly name: ClientCallName
}

const ROUTES: readonly Route[] = [
  { method: 'GET', path: '/api/sdk/v1/capabilities', name: 'get_capabilities' },
  { method: 'POST', path: '/api/sdk/v1/preflight', name: 'preflight_workflow' },
  { method: 'POST', path: '/api/sdk/v1/assets/temporary', name: 'uploadTemporaryAsset' },
  { method: 'POST', path: '/api/sdk/v1/workflow-interfaces', name: 'get_workflow_interfaces' },
  { method: 'GET', path: '/api/sdk/v1/workflows', name: 'list_workflow_summaries' },
  { method: 'POST', path: '/api/sdk/v1/jobs', name: 'submit_job' },
  { method: 'GET', path: '/api/sdk/v1/jobs/:job_id', name: 'get_job_snapshot' },
  { method: 'POST', path: '/api/sdk/v1/jobs/:job_id/cancel', name: 'request_job_cancellation' },
  { method: 'GET', path: '/api/workflows', name: 'list_workflows' },
  { method: 'GET', path: '/api/workflows/:workflow_id', name: 'get_workflow' },
  { method: 'GET', path: '/api/workflows/:workflow_id/interface', name: 'get_workflow_interface' },
  { method: 'POST', path: '/api/workflows/:workflow_id/run', name: 'runWorkflow' },
  { method: 'GET', path: '/api/jobs/:job_id', name: 'getJob' },
  { method: 'GET', path: '/api/jobs/:job_id/events', name: 'followJobEvents' },
]

/** Returns the parameters of a matching path, or null. */
function matchPath(path: string, actual: readonly string[]): JsonMap | null {
  const segments = path.split('/').slice(1)
  if (segments.length !== actual.length) return null
  const parameters: JsonMap = {}
  for (const [index, segment] of segments.entries()) {
    if (segment.startsWith(':')) parameters[segment.slice(1)] = actual[index]
    else if (segment !== actual[index]) return null
  }
  return parameters
}

/** Parses the target of a request. A client may send any text; one that is not a path, such as `*:99999`, matches no route. */
export function parseRequestUrl(target: string): URL {
  return URL.parse(`http://server${target}`) ?? new URL('http://server/no-path')
}

/** Returns the call of a request, or null where the contract has no such path. `body`: the JSON of the request. */
export function routeRequest(method: string, target: string, body: unknown): RoutedCall | null {
  const { pathname } = parseRequestUrl(target)
  const actual = decodeSegments(pathname.replace(/\/$/, ''))
  for (const { method: wanted, path, name } of ROUTES) {
    const parameters = method === wanted && actual ? matchPath(path, actual) : null
    if (parameters) return { name, data: { ...(isMap(body) ? body : {}), ...parameters } }
  }
  return null
}

function decodeSegments(path: string): string[] | null {
  try {
    return path.split('/').slice(1).map(decodeURIComponent)
  } catch {
    return null
  }
}

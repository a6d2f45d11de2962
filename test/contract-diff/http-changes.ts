// Single changes of HTTP operations, and what each means.
import type { JsonMap } from '../../src/contract/json.ts'
import { at, type Change, operation, put, without } from './kit.ts'

/** A change, the verdict that it gets, and the rule that says so. `before` is made to both sides. */
export interface Case {
  readonly title: string
  readonly verdict: 'none' | 'additive' | 'risky' | 'breaking'
  readonly rule?: string
  readonly before?: Change
  readonly change: Change
}

type Row = readonly [title: string, verdict: Case['verdict'], rule: string, change: Change, before?: Change]

export function cases(rows: readonly Row[]): Case[] {
  return rows.map(([title, verdict, rule, change, before]) => ({
    title,
    verdict,
    rule,
    change,
    ...(before && { before }),
  }))
}

const JOBS = '/api/jobs'
const RUN = '/api/workflows/{id}/run'
const EVENTS = '/api/jobs/{id}/events'

const run = (document: JsonMap, ...path: readonly (string | number)[]) => operation(document, RUN, 'post', ...path)
const jobs = (document: JsonMap, ...path: readonly (string | number)[]) => operation(document, JOBS, 'get', ...path)
const parameter = (document: JsonMap, name: string): JsonMap => {
  const list = jobs(document, 'parameters') as unknown as JsonMap[]
  const found = list.find((one) => one.name === name)
  if (!found) throw new Error(`there is no parameter ${name}`)
  return found
}
const addParameter = (document: JsonMap, more: JsonMap) => {
  const list = jobs(document, 'parameters') as unknown as JsonMap[]
  list.push({ name: 'colour', in: 'query', schema: { type: 'string' }, ...more })
}
const planned: Change = ({ openapi }) => {
  run(openapi)['x-svc-implementation'] = 'planned'
}
const removeRun: Change = ({ openapi }) => {
  delete operation(openapi, RUN, 'post')['x-svc-validation']
  delete at(openapi, 'paths', RUN).post
}

export const httpCases: readonly Case[] = cases([
  ['an operation is removed', 'breaking', 'operation-removed', removeRun],
  ['a planned operation is removed', 'risky', 'operation-removed', removeRun, planned],
  [
    'an operation is added',
    'additive',
    'operation-added',
    ({ openapi }) => {
      at(openapi, 'paths')['/api/new'] = { get: { ...jobs(openapi), operationId: 'listNews' } }
    },
  ],
  [
    'a method changes',
    'breaking',
    'operation-moved',
    ({ openapi }) => {
      const item = at(openapi, 'paths', RUN)
      item.put = item.post!
      delete item.post
    },
  ],
  [
    'a path changes',
    'breaking',
    'operation-moved',
    ({ openapi }) => {
      const paths = at(openapi, 'paths')
      paths['/api/workflows/{id}/runs'] = paths[RUN]!
      delete paths[RUN]
    },
  ],
  [
    'an operationId changes',
    'breaking',
    'operation-renamed',
    ({ openapi }) => put(run(openapi), 'operationId', 'start'),
  ],
  [
    'an operation is no longer implemented',
    'risky',
    'no-longer-implemented',
    ({ openapi }) => put(run(openapi), 'x-svc-implementation', 'planned'),
  ],
  [
    'a planned operation is implemented',
    'additive',
    'implemented',
    ({ openapi }) => put(run(openapi), 'x-svc-implementation', 'implemented'),
    planned,
  ],
  ['an operation gets another tag', 'risky', 'tag-changed', ({ openapi }) => put(run(openapi), 'tags', ['jobs'])],
  ['an operation is deprecated', 'additive', 'deprecated', ({ openapi }) => put(run(openapi), 'deprecated', true)],
  [
    'summary and description change',
    'none',
    '',
    ({ openapi }) => void Object.assign(run(openapi), { summary: 'x', description: 'y' }),
  ],
  [
    'examples change',
    'none',
    '',
    ({ openapi }) => put(run(openapi, 'requestBody', 'content', 'application/json'), 'examples', {}),
  ],

  [
    'a required parameter is added',
    'breaking',
    'parameter-added',
    ({ openapi }) => addParameter(openapi, { required: true }),
  ],
  ['an optional parameter is added', 'additive', 'parameter-added', ({ openapi }) => addParameter(openapi, {})],
  [
    'a parameter is removed',
    'breaking',
    'parameter-removed',
    ({ openapi }) => {
      const list = jobs(openapi).parameters as JsonMap[]
      jobs(openapi).parameters = list.filter((one) => one.name !== 'workflow_id')
    },
  ],
  [
    'a parameter is required',
    'breaking',
    'required',
    ({ openapi }) => put(parameter(openapi, 'workflow_id'), 'required', true),
  ],
  [
    'a parameter is no longer required',
    'additive',
    'optional',
    ({ openapi }) => put(parameter(openapi, 'workflow_id'), 'required', false),
    ({ openapi }) => put(parameter(openapi, 'workflow_id'), 'required', true),
  ],
  [
    'a parameter takes less',
    'breaking',
    'bound-tightened',
    ({ openapi }) => put(at(parameter(openapi, 'limit'), 'schema'), 'maximum', 2),
  ],
  [
    'a parameter takes more',
    'additive',
    'bound-loosened',
    ({ openapi }) => put(at(parameter(openapi, 'limit'), 'schema'), 'maximum', 1e9),
  ],
  [
    'the default of a parameter changes',
    'risky',
    'default-changed',
    ({ openapi }) => put(at(parameter(openapi, 'limit'), 'schema'), 'default', 7),
    ({ openapi }) => put(at(parameter(openapi, 'limit'), 'schema'), 'default', 8),
  ],
  [
    'a parameter is written otherwise',
    'breaking',
    'parameter-encoding',
    ({ openapi }) => put(parameter(openapi, 'status'), 'explode', false),
  ],

  [
    'a body is required',
    'breaking',
    'required',
    ({ openapi }) => put(run(openapi, 'requestBody'), 'required', true),
    ({ openapi }) => put(run(openapi, 'requestBody'), 'required', false),
  ],
  [
    'a body is no longer required',
    'additive',
    'optional',
    ({ openapi }) => put(run(openapi, 'requestBody'), 'required', false),
    ({ openapi }) => put(run(openapi, 'requestBody'), 'required', true),
  ],
  ['a body is removed', 'breaking', 'body-removed', ({ openapi }) => void delete run(openapi).requestBody],
  [
    'a required body is added',
    'breaking',
    'body-added',
    ({ openapi }) =>
      put(operation(openapi, '/api/jobs/{id}/cancel', 'post'), 'requestBody', {
        ...run(openapi, 'requestBody'),
        required: true,
      }),
  ],
  [
    'a content type is no longer taken',
    'breaking',
    'content-removed',
    ({ openapi }) => {
      const content = run(openapi, 'requestBody', 'content')
      content['application/cbor'] = content['application/json']!
      delete content['application/json']
    },
  ],
  [
    'a content type is taken too',
    'additive',
    'content-added',
    ({ openapi }) => put(run(openapi, 'requestBody', 'content'), 'application/cbor', {}),
  ],

  [
    'a success is no longer answered',
    'breaking',
    'status-removed',
    ({ openapi }) => void delete run(openapi, 'responses')['202'],
  ],
  [
    'an error is no longer answered',
    'additive',
    'status-removed',
    ({ openapi }) => void delete run(openapi, 'responses')['422'],
  ],
  [
    'another success is answered',
    'risky',
    'status-added',
    ({ openapi }) => put(run(openapi, 'responses'), '201', { description: '' }),
  ],
  [
    'another error is answered',
    'additive',
    'status-added',
    ({ openapi }) => put(run(openapi, 'responses'), '418', { description: '' }),
  ],
  [
    'unchanged content need not be sent again',
    'additive',
    'status-added',
    ({ openapi }) => put(jobs(openapi, 'responses'), '304', { description: '' }),
  ],
  [
    'a content type is no longer given',
    'breaking',
    'content-removed',
    ({ openapi }) => void delete operation(openapi, EVENTS, 'get', 'responses', '200', 'content')['application/json'],
  ],
  [
    'a content type can be given too',
    'additive',
    'content-added',
    ({ openapi }) => put(operation(openapi, EVENTS, 'get', 'responses', '200', 'content'), 'text/csv', {}),
  ],
  [
    'a header is no longer given',
    'breaking',
    'header-removed',
    ({ openapi }) => void delete operation(openapi, '/api/storage/{key}', 'get', 'responses', '200', 'headers').ETag,
  ],
  [
    'a header is given too',
    'additive',
    'header-added',
    ({ openapi }) => put(operation(openapi, '/api/storage/{key}', 'get', 'responses', '200', 'headers'), 'Colour', {}),
  ],

  [
    'a public operation wants a credential',
    'breaking',
    'security-tightened',
    ({ openapi }) => void delete operation(openapi, '/health', 'get').security,
  ],
  ['an operation becomes public', 'additive', 'security-loosened', ({ openapi }) => put(run(openapi), 'security', [])],
  [
    'a kind of credential is no longer good',
    'breaking',
    'security-tightened',
    ({ openapi }) => put(openapi, 'security', (openapi.security as JsonMap[]).slice(0, 1)),
  ],
  [
    'a credential is sent otherwise',
    'breaking',
    'scheme-changed',
    ({ openapi }) => put(at(openapi, 'components', 'securitySchemes', 'bearer'), 'scheme', 'basic'),
  ],
  [
    'an operation is for administrators',
    'breaking',
    'access-changed',
    ({ openapi }) => put(run(openapi), 'x-svc-access', 'administrator'),
  ],
  [
    'a read token is no longer good',
    'breaking',
    'scope-changed',
    ({ openapi }) => put(jobs(openapi), 'x-svc-scope', 'write'),
  ],
  ['a read token is good', 'additive', 'scope-changed', ({ openapi }) => put(run(openapi), 'x-svc-scope', 'read')],
  [
    'a trailing slash is no longer served',
    'breaking',
    'marker-changed',
    ({ openapi }) => void delete operation(openapi, '/api/workflows', 'get')['x-svc-trailing-slash'],
  ],
  [
    'an operation is limited more tightly',
    'risky',
    'rate-limit-changed',
    ({ openapi }) => put(run(openapi), 'x-svc-rate-limit', 'sign_in'),
  ],
  [
    'the default address changes',
    'risky',
    'servers-changed',
    ({ openapi }) => put(openapi, 'servers', [{ url: 'http://127.0.0.1:1' }]),
  ],
  ['an error code is removed', 'breaking', 'error-removed', ({ errors }) => void delete errors.QUEUE_FULL],
  ['an error code is added', 'additive', 'error-added', ({ errors }) => put(errors, 'NEW', { status: 400 })],
  [
    'the status of an error changes',
    'breaking',
    'error-status',
    ({ errors }) => put(at(errors, 'QUEUE_FULL'), 'status', 503),
  ],
  [
    'an error is no longer worth a retry',
    'breaking',
    'error-retryable',
    ({ errors }) => put(at(errors, 'QUEUE_FULL'), 'retryable', false),
  ],
  [
    'the word of an error changes',
    'breaking',
    'error-type',
    ({ errors }) => put(at(errors, 'QUEUE_FULL'), 'type', 'full'),
  ],
  ['the text of an error changes', 'none', '', ({ errors }) => put(at(errors, 'QUEUE_FULL'), 'message', 'Later.')],
  [
    'a schema loses its name',
    'risky',
    'schema-removed',
    (draft) => put(draft as never, 'names', without(draft.names, 'Timestamp.json') as string[]),
  ],
  ['a schema gets a name', 'additive', 'schema-added', (draft) => void draft.names.push('New.json')],
  [
    'a type of event is removed',
    'breaking',
    'event-removed',
    ({ operations }) => void (operations.events as JsonMap[]).pop(),
  ],
  [
    'a type of event is added',
    'additive',
    'event-added',
    ({ operations }) => void (operations.events as JsonMap[]).push({ type: 'new' }),
  ],
  [
    'a requirement is removed',
    'risky',
    'requirement-removed',
    ({ requirements }) => void (requirements.server as JsonMap[]).pop(),
  ],
  [
    'a requirement has another rule',
    'risky',
    'requirement-changed',
    ({ requirements }) => put(at(requirements, 'server', 0), 'rule', 'The opposite.'),
  ],
  [
    'a requirement is asked of the other side',
    'risky',
    'requirement-changed',
    ({ requirements }) => {
      const [server, client] = [requirements.server as JsonMap[], requirements.client as JsonMap[]]
      client.push(server.pop()!)
    },
  ],
  [
    'a requirement is explained in other words',
    'none',
    '',
    ({ requirements }) => Object.assign(at(requirements, 'server', 0), { source: 'elsewhere', mutation: 'Another.' }),
  ],
  [
    'a requirement of servers is new',
    'additive',
    'requirement-added',
    ({ requirements }) => void (requirements.server as JsonMap[]).push({ id: 'server.new', rule: 'A rule.' }),
  ],
  [
    'a requirement of clients is new',
    'risky',
    'requirement-added',
    ({ requirements }) => void (requirements.client as JsonMap[]).push({ id: 'client.new', rule: 'A rule.' }),
  ],
])

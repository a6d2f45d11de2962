// http.*: requests to other servers. The client of the host sends them and decides which servers they may reach.
import type { NodeProperty, NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { runInWorkerIfHeavy } from '../apart.ts'
import { optionalProperty, requiredProperty, streamOutput, valueOutput } from '../shared/node-type-builders.ts'
import { parsePathTexts } from '../shared/value-operations.ts'
import { fetchPages, PAGINATION_MODES, type PaginationInputs } from './pagination.ts'
import { buildRequest, hasIdempotentMethod, type RequestInputs, sendWithRetries } from './request.ts'
import { BODY_TYPES } from './request-body.ts'
import {
  costOfResponse,
  guardSuccessStatus,
  prepareResponse,
  RESPONSE_TYPES,
  type ReceivedResponse,
  type ResponseType,
  readResponse,
  type UnreadResponse,
} from './response.ts'
import { secretNamesSteps } from './secret-names.ts'

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const
/** Items come in a body, and a response to HEAD has no body. */
const PAGE_METHODS = METHODS.filter((method) => method !== 'HEAD')
const MEGABYTE = 1_000_000

const methodProperty = (methods: readonly string[]) =>
  optionalProperty('method', createEnumType(...methods), 'The HTTP method.', { default: 'GET' })

/** The properties of every request besides its method. */
const requestProperties: readonly NodeProperty[] = [
  requiredProperty(
    'url',
    'str',
    'An http or https URL. {{secret:NAME}} stands for a secret, here and in query, headers and body.',
  ),
  optionalProperty(
    'query',
    'dict[str,any]',
    'Parameters added to the URL. A list repeats its parameter, null leaves it out.',
    {
      default: {},
    },
  ),
  optionalProperty('headers', 'dict[str,str]', 'Headers by name.', { default: {} }),
  optionalProperty(
    'body',
    'any',
    'The body of the request. A text is sent unchanged, any other value as JSON. Null sends no body.',
  ),
  optionalProperty(
    'body_type',
    createEnumType(...BODY_TYPES),
    'How the body is written. A form takes a dict, base64 is sent as bytes.',
    {
      default: 'auto',
    },
  ),
  optionalProperty(
    'request_timeout_seconds',
    'float',
    'The time limit of each attempt, until the whole answer is received.',
    {
      default: 30,
      min: 0.001,
      max: 600,
    },
  ),
  optionalProperty(
    'max_bytes',
    'int',
    'The longest body of an answer, in bytes after decompression. At most 10 MB of JSON and 40 MB of text are read.',
    {
      default: 10 * MEGABYTE,
      min: 1,
      max: 100 * MEGABYTE,
    },
  ),
  optionalProperty(
    'max_redirects',
    'int',
    'How many redirects are followed. With 0 the redirect itself is the answer.',
    {
      default: 5,
      min: 0,
      max: 20,
    },
  ),
  optionalProperty(
    'retries',
    'int',
    'How often the request is retried after 429, 502, 503, 504 or a failed connection. POST and PATCH are retried only after 429 and 503 with Retry-After. The wait is that of Retry-After, at most 60 seconds; without it about 1, 2, 4 … seconds.',
    { default: 0, min: 0, max: 10 },
  ),
]

interface HttpRequestInputs extends RequestInputs {
  response_type: ResponseType
  fail_on_error_status: boolean
}

const requestNode: NodeType = {
  node_type: 'http.Request',
  title: 'HTTP request',
  description:
    'Sends a request to a server on the internet and gives its answer. SVC_HTTP_NODE_ALLOW sets which other servers may be reached.',
  properties: [
    methodProperty(METHODS),
    ...requestProperties,
    optionalProperty(
      'response_type',
      createEnumType(...RESPONSE_TYPES),
      'How the body is read. auto: JSON and text by the content type, anything else as base64.',
      { default: 'auto' },
    ),
    optionalProperty('fail_on_error_status', 'bool', 'Whether a status of 400 or more fails the node.', {
      default: true,
    }),
  ],
  outputs: [valueOutput('status', 'int'), valueOutput('headers', 'dict[str,str]'), valueOutput('body', 'any')],
  retry_safe: hasIdempotentMethod,
  secretNamesSteps,
  async prepare(inputs, context) {
    const { response_type, fail_on_error_status } = inputs as HttpRequestInputs
    const answer: ReceivedResponse = await sendWithRetries(
      await buildRequest(inputs as HttpRequestInputs, context),
      inputs as HttpRequestInputs,
      context,
    )
    if (fail_on_error_status) await guardSuccessStatus(answer, context)
    return prepareResponse(answer, response_type)
  },
  cost: (inputs) => costOfResponse(inputs as UnreadResponse),
  run: (inputs) => readResponse(inputs as UnreadResponse),
}

export const httpNodes: NodeType[] = [
  requestNode,
  {
    node_type: 'http.Pages',
    isPulledOnDemand: true,
    title: 'Pages over HTTP',
    description:
      'Streams the items of a list that a server gives page by page, as JSON. Each page is requested when its items are needed.',
    properties: [
      methodProperty(PAGE_METHODS),
      ...requestProperties,
      optionalProperty(
        'mode',
        createEnumType(...PAGINATION_MODES),
        'How the next page is found: by the Link header, by a cursor in the answer, by counting pages, or by counting items. The last two end with a page without items.',
        { default: 'link' },
      ),
      optionalProperty(
        'cursor_path',
        'str',
        'The path of the cursor in the answer. The cursor is a text, a number, or the URL of the next page.',
        {
          default: 'next',
        },
      ),
      optionalProperty('cursor_parameter', 'str', 'The query parameter that takes the cursor.', { default: 'cursor' }),
      optionalProperty(
        'page_parameter',
        'str',
        'The query parameter for the number of the page, or of the items before it. Empty: page or offset. Counting begins with the number in the URL.',
        { default: '' },
      ),
      optionalProperty(
        'items_path',
        'str',
        'The path of the list of items in the answer. Empty: the answer is the list.',
        {
          default: '',
        },
      ),
      optionalProperty('max_pages', 'int', 'The most pages that are requested.', { default: 100, min: 1, max: 10_000 }),
    ],
    expressions: {
      cursor_path: (own: string, { mode }) => mode === 'cursor' && parsePathTexts(own),
      items_path: parsePathTexts,
    },
    outputs: [streamOutput('item', 'any'), streamOutput('page', 'int')],
    retry_safe: hasIdempotentMethod,
    secretNamesSteps,
    // A list that grew at its end, or stayed the same, is read on. If an earlier part changed, the repeated items show that.
    repeats: true,
    run: (inputs: PaginationInputs, context) =>
      fetchPages(
        inputs,
        context,
        async (answer) => (await runInWorkerIfHeavy(requestNode, prepareResponse(answer, 'json'), context)).body,
      ),
  },
]

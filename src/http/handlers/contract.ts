// Operations of the tag `contract`: the published documents, and the reference page for them, whose code is in web/reference.
import { readFile } from 'node:fs/promises'
import type { ContractHandlers, OperationReply } from '../../../generated/operations.ts'
import { ServiceError } from '../../errors.ts'
import { createJsonTextReply } from '../pipeline/reply.ts'
import type { RequestContext } from '../pipeline/request-context.ts'
import { contractDocuments } from './contract-documents.ts'
import { documentationHandlers } from './documentation.ts'
import { isSchemaName, readPublishedFile } from './lifecycle-publication.ts'
import { REFERENCE_HEADERS, REVALIDATED_CACHE } from './reference-headers.ts'

type ContentType = Extract<OperationReply<'getReferenceFile'>, { content_type: string }>['content_type']

interface ReferenceFile {
  /** Resolved on request: a server whose reference is not used needs no files of it. */
  readonly location: () => string
  readonly content_type: ContentType
  readonly cache: string
}

// The library changes only with its version.
const ONE_DAY_CACHE = 'public, max-age=86400'

const SCRIPTS = [
  'page',
  'theme',
  'dom',
  'source',
  'markdown',
  'json',
  'schema',
  'message',
  'channels',
  'sockets',
  'http',
  'operations',
  'limits',
  'forms',
  'guide',
  'choices',
  'selection',
  'quick-start',
]
const STYLES = ['page', 'http', 'sockets', 'guide', 'quick-start']

/** All files that the page may load. No other file can be read. */
const REFERENCE_FILES: ReadonlyMap<string, ReferenceFile> = new Map([
  ...SCRIPTS.map((name) => ownFile(`${name}.js`, 'text/javascript')),
  ...STYLES.map((name) => ownFile(`${name}.css`, 'text/css')),
  ownFile('icon.svg', 'image/svg+xml'),
  libraryFile('swagger-ui-bundle.js', 'text/javascript'),
  libraryFile('swagger-ui.css', 'text/css'),
])

export const contractHandlers: ContractHandlers<RequestContext> = {
  ...documentationHandlers,

  getOpenapiDocument(_request, { app }) {
    const { public_url, sdk_lifecycle_preview } = app.config
    const document = contractDocuments.openapi(sdk_lifecycle_preview) as OperationBody<'getOpenapiDocument'>
    const servers = [{ url: public_url, description: 'This server.' }]
    return { status: 200, body: public_url === null ? document : { ...document, servers } }
  },

  getAsyncapiDocument(_request, { app }) {
    const { public_url, sdk_lifecycle_preview } = app.config
    const document = contractDocuments.asyncapi(sdk_lifecycle_preview) as OperationBody<'getAsyncapiDocument'>
    return {
      status: 200,
      body: public_url === null ? document : { ...document, servers: createSocketServers(document, public_url) },
    }
  },

  // Relative, so that the redirect also works behind a proxy that serves this under a path.
  getStartPage: () => ({ status: 302, headers: { Location: 'docs' } }),

  async getReference() {
    const body = await readFile(new URL('../../web/reference/index.html', import.meta.url))
    return {
      status: 200,
      content_type: 'text/html',
      body,
      headers: { ...REFERENCE_HEADERS, 'Cache-Control': REVALIDATED_CACHE },
    }
  },

  async getReferenceFile({ path }) {
    const file = REFERENCE_FILES.get(path.file)
    if (!file) throw new ServiceError('NOT_FOUND')
    const body = await readFile(new URL(file.location()))
    return {
      status: 200,
      content_type: file.content_type,
      body,
      headers: { ...REFERENCE_HEADERS, 'Cache-Control': file.cache },
    }
  },

  async getLifecycleSchema({ path, headers: conditions }) {
    const file = isSchemaName(path.name) ? await readPublishedFile(path.name, conditions['if-none-match']) : null
    if (!file) throw new ServiceError('NOT_FOUND')
    const { text, headers } = file
    return text === null ? { status: 304, headers } : { ...createJsonTextReply<SchemaBody, 200>(200, text), headers }
  },
}

type SchemaBody = Extract<OperationReply<'getLifecycleSchema'>, { status: 200 }>['body']

type OperationBody<Id extends 'getOpenapiDocument' | 'getAsyncapiDocument'> = OperationReply<Id>['body']

function ownFile(name: string, content_type: ContentType): [string, ReferenceFile] {
  const location = () => new URL(`../../web/reference/${name}`, import.meta.url).href
  return [name, { location, content_type, cache: REVALIDATED_CACHE }]
}

function libraryFile(name: string, content_type: ContentType): [string, ReferenceFile] {
  return [name, { location: () => import.meta.resolve(`swagger-ui-dist/${name}`), content_type, cache: ONE_DAY_CACHE }]
}

/** The declared servers of the AsyncAPI document, at the public URL. */
function createSocketServers(document: object, public_url: string): Record<string, unknown> {
  const { servers } = document as { servers: Record<string, object> }
  const { protocol, host, pathname } = new URL(public_url)
  const endpoint = { host, protocol: protocol === 'https:' ? 'wss' : 'ws', ...(pathname === '/' ? {} : { pathname }) }
  return Object.fromEntries(Object.entries(servers).map(([name, server]) => [name, { ...server, ...endpoint }]))
}

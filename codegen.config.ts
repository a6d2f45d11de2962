// What the generator reads and writes, and the rules that the contract keeps: data only.
export const config = {
  spec: 'spec',
  generated: 'generated',
  /** The root of each document, and the file that it becomes. */
  documents: {
    openapi: { root: 'openapi.yaml', output: 'openapi.json' },
    asyncapi: { root: 'asyncapi.yaml', output: 'asyncapi.json' },
  },
  /** Keywords that mean the same in JSON Schema draft-07 and 2020-12; others are refused. */
  schema_keywords: [
    'type',
    'enum',
    'const',
    'properties',
    'required',
    'additionalProperties',
    'propertyNames',
    'minProperties',
    'maxProperties',
    'items',
    'minItems',
    'maxItems',
    'uniqueItems',
    'minLength',
    'maxLength',
    'pattern',
    'format',
    'minimum',
    'maximum',
    'exclusiveMinimum',
    'exclusiveMaximum',
    'multipleOf',
    'oneOf',
    'anyOf',
    'allOf',
    'not',
    'if',
    'then',
    'else',
    'contentEncoding',
    'contentMediaType',
    'description',
    'title',
    'default',
    'examples',
    'deprecated',
    'readOnly',
    'writeOnly',
  ],
  /** The values of each marker; null takes any text, an empty list only `true`. */
  markers: {
    operation: {
      'x-svc-implementation': ['implemented', 'planned'],
      'x-svc-access': ['public', 'principal', 'administrator'],
      'x-svc-validation': ['precompiled'],
      'x-svc-trailing-slash': [],
      'x-svc-wildcard': null,
      'x-svc-errors': ['api', 'sdk', 'openai'],
      'x-svc-body': ['raw', 'multipart', 'none'],
      'x-svc-scope': ['read', 'write'],
      'x-svc-rate-limit': ['sign_in'],
    },
    message: {
      'x-svc-implementation': ['implemented', 'planned', 'partial'],
      'x-svc-kind': ['job', 'rpc', 'chat', 'connection'],
      'x-svc-request-id': ['required', 'optional'],
      'x-svc-preview': [],
      'x-svc-scope': ['read', 'write'],
      'x-svc-result': null,
    },
  },
  /** Error bodies that handlers throw rather than return. */
  error_schemas: ['ApiError', 'SdkError', 'OpenAiError', 'RefusedError'],
  /** Content that a document cannot show as an example. */
  media_without_examples: ['multipart/form-data', 'application/octet-stream', '*/*', 'image/*', 'font/woff2'],
} as const

/** The generator's configuration. */
export type CodegenConfig = typeof config

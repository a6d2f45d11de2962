// vector.*: vectors that are stored in named indexes and searched by similarity. The host stores them.

import type { InputValues, OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeFacts, NodeNeed, NodeProblem } from '../../engine/node-api/node-facts.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import type { VectorFilter } from '../../engine/node-api/services/vectors.ts'
import { dimensionsProperty, embeddingNeed, embedTexts } from '../chat/embed-node.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import { findIndexProblem, type IndexInputs, indexVectors } from './entry-indexing.ts'
import { findFilterProblem, guardVectorFilter } from './filter-limits.ts'

interface SearchInputs extends InputValues {
  index: string
  query: string
  vector: number[] | null
  model: string
  dimensions: number | null
  top_k: number
  min_score: number | null
  filter: VectorFilter
}

async function searchVectors(inputs: SearchInputs, context: NodeContext): Promise<OutputValues> {
  const { index, query, dimensions, top_k, min_score, filter } = inputs
  const { services, signal } = context
  if (inputs.vector === null && query === '')
    throw new NodeError('There is nothing to search for. Give a query or a vector.', 'bad_input')
  guardVectorFilter(filter)
  const known = inputs.vector ? null : await services.vectors.info(index)
  if (!inputs.vector && !known) throw new NodeError(`There is no vector index "${index}".`, 'index_not_found')
  const model = inputs.model || (known?.model ?? '')
  if (!inputs.vector && model === '')
    throw new NodeError(
      'The query needs a model that makes its vector, and the index names none. Set model.',
      'bad_input',
    )
  const made = inputs.vector
    ? null
    : await embedTexts(await services.redactTexts([query]), { model, dimensions }, context)
  const vector = inputs.vector ?? made!.vectors[0]!
  const by = made ? (made.usage.model as string) : model === '' ? null : model
  const held = (bytes: number) => context.hold(bytes)
  const matches = await services.vectors.search({
    index,
    vector,
    model: by,
    top_k,
    min_score,
    filter,
    signal,
    onBytesHeld: held,
  })
  const texts = matches.flatMap(({ text }) => (text === null ? [] : [text]))
  return { matches, texts, ...(made ? { usage: made.usage } : {}) }
}

function listSearchNeeds(facts: NodeFacts): NodeNeed[] {
  const { data, isConnected } = facts
  const asks = isConnected('query') || (typeof data.query === 'string' && data.query !== '')
  return isConnected('vector') || Array.isArray(data.vector) || !asks ? [] : [embeddingNeed(facts, 'query')]
}

function findSearchProblem(facts: NodeFacts): NodeProblem | null {
  const { data, isConnected } = facts
  if (isConnected('query') || isConnected('vector') || data.vector !== null || data.query !== '')
    return findFilterPropertyProblem(facts)
  const message = 'There is nothing to search for. Give a query or a vector.'
  return { property: 'query', code: 'missing_property', message }
}

function findFilterPropertyProblem({ data, isConnected }: NodeFacts): NodeProblem | null {
  const message = isConnected('filter') ? null : findFilterProblem(data.filter)
  return message === null ? null : { property: 'filter', code: 'out_of_range', message }
}

interface RemoveInputs extends InputValues {
  index: string
  ids: string[]
  filter: VectorFilter
  all: boolean
}

async function removeEntries(
  { index, ids, filter, all }: RemoveInputs,
  { services, signal }: NodeContext,
): Promise<OutputValues> {
  const ways = [all, ids.length > 0, Object.keys(filter).length > 0].filter(Boolean).length
  if (ways > 1) throw new NodeError('Give only one of ids, filter and all.', 'bad_input')
  const which = all ? null : Object.keys(filter).length > 0 ? filter : ids
  return { count: await services.vectors.remove(index, which, signal) }
}

const indexProperty = () => requiredProperty('index', 'str', 'The name of the index. Each user has separate indexes.')
const filterProperty = (what: string) =>
  optionalProperty(
    'filter',
    'dict[str,any]',
    `${what} whose metadata match: each key must have its value, or one value of a list. At most 10,000 keys and values.`,
    { default: {} },
  )

export const vectorNodes: NodeType[] = [
  {
    node_type: 'vector.Index',
    title: 'Keep vectors',
    description:
      'Writes entries into a vector index, which is created if it does not exist. An entry replaces the entry with the same id. Without ids, the ids are made from the texts, so that the same text is one entry.',
    properties: [
      indexProperty(),
      optionalProperty(
        'texts',
        'list[str]',
        'A text or a list of texts. Without vectors the model makes their vectors.',
        {
          default: [],
        },
      ),
      optionalProperty('vectors', 'list[list[float]]', 'The vectors, one for each text; texts may be left out.', {
        default: [],
      }),
      optionalProperty('ids', 'list[str]', 'The ids, one for each entry.', { default: [] }),
      optionalProperty('metadata', 'list[dict[str,any]]', 'The metadata of each entry, for filters.', {
        default: [],
      }),
      optionalProperty('model', 'str', 'The model that makes the vectors or has made them, as provider/name.', {
        default: '',
      }),
      dimensionsProperty(),
    ],
    outputs: [valueOutput('ids', 'list[str]'), valueOutput('count', 'int'), valueOutput('usage', 'dict[str,any]')],
    effect: true,
    needs: (facts) => {
      const { data, isConnected } = facts
      const has = (name: string) => isConnected(name) || (Array.isArray(data[name]) && data[name].length > 0)
      return has('vectors') || !has('texts') ? [] : [embeddingNeed(facts, 'texts')]
    },
    problem: findIndexProblem,
    run: (inputs, context) => indexVectors(inputs as IndexInputs, context),
  },
  {
    node_type: 'vector.Search',
    title: 'Search vectors',
    description:
      'Finds the entries of an index that are nearest to a text or a vector, with a score from −1 to 1 (the cosine), the nearest first.',
    properties: [
      indexProperty(),
      optionalProperty('query', 'str', 'The text to search by.', { default: '' }),
      optionalProperty('vector', 'list[float]?', 'The vector to search by, instead of a text.'),
      optionalProperty(
        'model',
        'str',
        'The model that makes the vector of the query. Without it: the model of the index.',
        {
          default: '',
        },
      ),
      dimensionsProperty(),
      optionalProperty('top_k', 'int', 'The most entries to give.', { default: 5, min: 1, max: 1000 }),
      optionalProperty('min_score', 'float?', 'Gives only entries with at least this score.', { min: -1, max: 1 }),
      filterProperty('Searches only entries'),
    ],
    outputs: [
      valueOutput('matches', 'list[dict[str,any]]'),
      valueOutput('texts', 'list[str]'),
      valueOutput('usage', 'dict[str,any]'),
    ],
    needs: listSearchNeeds,
    problem: findSearchProblem,
    run: (inputs, context) => searchVectors(inputs as SearchInputs, context),
  },
  {
    node_type: 'vector.Remove',
    title: 'Remove vectors',
    description: 'Removes entries of an index by their ids or by a filter, or the whole index.',
    properties: [
      indexProperty(),
      optionalProperty('ids', 'list[str]', 'The ids of the entries.', { default: [] }),
      filterProperty('Removes the entries'),
      optionalProperty('all', 'bool', 'Removes the whole index.', { default: false }),
    ],
    outputs: [valueOutput('count', 'int')],
    gives_all: true,
    effect: true,
    problem: findFilterPropertyProblem,
    run: (inputs, context) => removeEntries(inputs as RemoveInputs, context),
  },
  {
    node_type: 'vector.Info',
    title: 'About an index of vectors',
    description:
      'Tells whether an index exists, how many entries it has, how long its vectors are, and which model made them.',
    properties: [indexProperty()],
    outputs: [
      valueOutput('exists', 'bool'),
      valueOutput('count', 'int'),
      valueOutput('dimensions', 'int'),
      valueOutput('model', 'str'),
    ],
    async run({ index }, { services }) {
      const known = await services.vectors.info(String(index))
      if (!known) return { exists: false, count: 0 }
      const { count, dimensions, model } = known
      return { exists: true, count, dimensions, ...(model === null ? {} : { model }) }
    },
  },
  {
    node_type: 'vector.List',
    title: 'Indexes of vectors',
    description: 'Lists the vector indexes of the user who runs the workflow, by name.',
    properties: [],
    outputs: [valueOutput('indexes', 'list[dict[str,any]]')],
    gives_all: true,
    run: async (_inputs, { services }) => ({ indexes: await services.vectors.list() }),
  },
]

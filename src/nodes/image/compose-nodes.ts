// image.*: overlays, contact sheets, text, trimming and padding. Tasks of the same names in src/media do the work in a worker.

import { NodeError } from '../../engine/node-api/node-error.ts'
import type { NodeProperty, NodeType } from '../../engine/node-api/node-type.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import { createFileNeedsReader, readFileInput, readFileInputs, runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'
import {
  BACKGROUND_PROPERTY,
  defineImageTransform,
  FORMAT_PROPERTIES,
  IMAGE_PROPERTY,
  type MadeImage,
  toImageValue,
} from './transform-nodes.ts'

const BLENDS = [
  'over',
  'multiply',
  'screen',
  'overlay',
  'darken',
  'lighten',
  'add',
  'difference',
  'exclusion',
  'hard-light',
  'soft-light',
  'color-dodge',
  'color-burn',
]
/** In pixels. No picture is larger. */
const FARTHEST_PIXELS = 32_768

interface LayerPlacement {
  readonly left: number
  readonly top: number
  readonly blend: string
  readonly opacity: number
}

/** Checks of the values of a placement, by name. */
const PLACEMENT_CHECKS: Readonly<Record<keyof LayerPlacement, (value: unknown) => boolean>> = {
  left: (value) => Number.isInteger(value) && Math.abs(value as number) <= FARTHEST_PIXELS,
  top: (value) => Number.isInteger(value) && Math.abs(value as number) <= FARTHEST_PIXELS,
  blend: (value) => BLENDS.includes(value as string),
  opacity: (value) => typeof value === 'number' && value >= 0 && value <= 1,
}

/** Throws NodeError `bad_input` for an invalid placement. */
function parsePlacement(value: unknown, at: number, usual: LayerPlacement): LayerPlacement {
  if (value === undefined || value === null) return usual
  if (typeof value !== 'object' || Array.isArray(value))
    throw new NodeError(`Place ${at + 1} is ${getValueKind(value)}. A place must be an object.`, 'bad_input')
  for (const [name, one] of Object.entries(value)) {
    if (!Object.hasOwn(PLACEMENT_CHECKS, name) || !PLACEMENT_CHECKS[name as keyof LayerPlacement](one))
      throw new NodeError(
        `Place ${at + 1} has an invalid or unknown "${truncateText(name, 40)}": left and top are whole numbers of pixels, opacity is from 0 to 1, and blend one of ${BLENDS.join(', ')}.`,
        'bad_input',
      )
  }
  return { ...usual, ...value }
}

const OUTPUTS = [valueOutput('image', 'image'), valueOutput('width', 'int'), valueOutput('height', 'int')]

function toImageOutputs(bytes: Uint8Array, value: unknown, name: string | null) {
  const made = value as MadeImage
  return { image: toImageValue(bytes, made, name), width: made.width, height: made.height }
}

const compositeNode: NodeType = {
  node_type: 'image.Composite',
  title: 'Lay images upon an image',
  description: 'Lays pictures upon a picture, one after the other. Parts beyond its edges are cut off.',
  properties: [
    IMAGE_PROPERTY,
    requiredProperty('images', 'list[any]', 'The pictures to lay upon it.'),
    optionalProperty(
      'places',
      'list[dict[str,any]]',
      'For each picture, in their order: left and top in pixels, blend, opacity. Missing values are those of the properties, and 0 for left and top.',
      { default: [] },
    ),
    optionalProperty('blend', createEnumType(...BLENDS), 'How colours are blended.', { default: 'over' }),
    optionalProperty('opacity', 'float', 'From 0, invisible, to 1, opaque.', {
      default: 1,
      min: 0,
      max: 1,
    }),
    ...FORMAT_PROPERTIES,
  ],
  outputs: OUTPUTS,
  needs: createFileNeedsReader('image', 'images'),
  async run({ image, images, places, blend, opacity, ...params }, context) {
    const usual = { left: 0, top: 0, blend: blend as string, opacity: opacity as number }
    const layers = images as unknown[]
    const given_places = places as unknown[]
    if (given_places.length > layers.length) throw new NodeError('There are more places than images.', 'bad_input')
    const all = layers.map((_, at) => parsePlacement(given_places[at], at, usual))
    const base = await readFileInput(image, 'The image', context)
    const others = await readFileInputs(layers, 'Image', context)
    const { files, value } = await runMediaTask(
      'image.composite',
      [base, ...others],
      { ...params, places: all },
      context,
    )
    return toImageOutputs(files[0]!, value, base.name)
  },
}

const contactSheetNode: NodeType = {
  node_type: 'image.ContactSheet',
  title: 'Contact sheet',
  description: 'Puts thumbnails of pictures into a grid, with their names below them.',
  properties: [
    requiredProperty('images', 'list[any]', 'The pictures: bytes, image values, or URLs of assets or temporary files.'),
    optionalProperty(
      'names',
      'list[str]?',
      'The text below each thumbnail. Null: the names of the files; an empty list: no text.',
    ),
    optionalProperty('columns', 'int', 'The number of columns.', { default: 4, min: 1, max: 20 }),
    optionalProperty('size', 'int', 'The largest width and height of a thumbnail, in pixels.', {
      default: 200,
      min: 16,
      max: 1_000,
    }),
    optionalProperty('gap', 'int', 'The space between thumbnails and around the grid, in pixels.', {
      default: 12,
      min: 0,
      max: 200,
    }),
    optionalProperty('text_size', 'int', 'The size of the names, in pixels.', { default: 12, min: 6, max: 60 }),
    optionalProperty('background', 'str', 'The colour of the background.', { default: '#ffffff' }),
    optionalProperty('colour', 'str', 'The colour of the names.', { default: '#000000' }),
    ...FORMAT_PROPERTIES,
  ],
  outputs: OUTPUTS,
  needs: createFileNeedsReader('images'),
  async run({ images, names, ...params }, context) {
    const files = await readFileInputs(images as unknown[], 'Image', context)
    const labels = (names as string[] | null) ?? files.map(({ name }) => name ?? '')
    const shown = labels.every((name) => name === '') ? [] : labels.slice(0, files.length)
    const made = await runMediaTask('image.contactSheet', files, { ...params, names: shown }, context)
    return toImageOutputs(made.files[0]!, made.value, 'contact-sheet')
  },
}

const TEXT_PROPERTIES: NodeProperty[] = [
  requiredProperty('text', 'str', 'The text to write. Long lines are wrapped.'),
  optionalProperty('size', 'float', 'The size of the letters, in pixels.', { default: 32, min: 4, max: 1_000 }),
  optionalProperty('colour', 'str', 'The colour of the letters, such as #ffffff or rgba(0,0,0,0.5).', {
    default: '#000000',
  }),
  optionalProperty(
    'font',
    createEnumType('sans', 'serif', 'mono'),
    'The font: DejaVu Sans, DejaVu Serif or DejaVu Sans Mono.',
    {
      default: 'sans',
    },
  ),
  optionalProperty('bold', 'bool', 'Draws thick letters.', { default: false }),
  optionalProperty('align', createEnumType('left', 'center', 'right'), 'The alignment of shorter lines.', {
    default: 'left',
  }),
  optionalProperty(
    'gravity',
    createEnumType('top_left', 'top', 'top_right', 'left', 'center', 'right', 'bottom_left', 'bottom', 'bottom_right'),
    'The position of the text in the picture.',
    { default: 'bottom' },
  ),
  optionalProperty('margin', 'int', 'The distance from the edges, in pixels.', {
    default: 10,
    min: 0,
    max: 4_000,
  }),
  optionalProperty('left', 'int?', 'The start of the text, in pixels from the left. Null: set by gravity.', {
    min: -FARTHEST_PIXELS,
    max: FARTHEST_PIXELS,
  }),
  optionalProperty('top', 'int?', 'The start of the text, in pixels from the top. Null: set by gravity.', {
    min: -FARTHEST_PIXELS,
    max: FARTHEST_PIXELS,
  }),
  optionalProperty(
    'width',
    'int?',
    'The width at which lines are wrapped, in pixels. Null: up to the other edge of the picture.',
    {
      min: 1,
      max: 16_384,
    },
  ),
]

const EDGE_RANGE = { default: 0, min: 0, max: 16_384 }

export const imageComposeNodes: NodeType[] = [
  compositeNode,
  contactSheetNode,
  defineImageTransform('DrawText', 'Write on image', 'Writes a text on a picture.', TEXT_PROPERTIES),
  defineImageTransform('Trim', 'Trim image', 'Cuts off edges that have the colour of the top left pixel.', [
    optionalProperty('tolerance', 'int', 'How much colours may differ, from 0 to 254.', {
      default: 10,
      min: 0,
      max: 254,
    }),
  ]),
  defineImageTransform('Pad', 'Pad image', 'Adds edges to a picture.', [
    ...['left', 'right', 'top', 'bottom'].map((side) =>
      optionalProperty(side, 'int', `The added edge at the ${side}, in pixels.`, EDGE_RANGE),
    ),
    BACKGROUND_PROPERTY,
  ]),
]

// image.*: what is laid upon pictures, cut off them and added to them. The work is done apart, by the tasks of the same names in src/media.

import { NodeError, type NodeProperty, type NodeType } from '../../engine/node-api/node-type.ts'
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
/** In pixels: no picture is longer. */
const FARTHEST_PIXELS = 32_768

interface LayerPlacement {
  readonly left: number
  readonly top: number
  readonly blend: string
  readonly opacity: number
}

/** Whether a place's value is good, by its name. */
const PLACEMENT_CHECKS: Readonly<Record<keyof LayerPlacement, (value: unknown) => boolean>> = {
  left: (value) => Number.isInteger(value) && Math.abs(value as number) <= FARTHEST_PIXELS,
  top: (value) => Number.isInteger(value) && Math.abs(value as number) <= FARTHEST_PIXELS,
  blend: (value) => BLENDS.includes(value as string),
  opacity: (value) => typeof value === 'number' && value >= 0 && value <= 1,
}

/** Throws NodeError `bad_input` where a place is none. */
function parsePlacement(value: unknown, at: number, usual: LayerPlacement): LayerPlacement {
  if (value === undefined || value === null) return usual
  if (typeof value !== 'object' || Array.isArray(value))
    throw new NodeError(`Place ${at + 1} is ${getValueKind(value)}: places are objects.`, 'bad_input')
  for (const [name, one] of Object.entries(value)) {
    if (!Object.hasOwn(PLACEMENT_CHECKS, name) || !PLACEMENT_CHECKS[name as keyof LayerPlacement](one))
      throw new NodeError(
        `Place ${at + 1} has a "${truncateText(name, 40)}" that is none: left and top are whole numbers of pixels, opacity is from 0 to 1, and blend one of ${BLENDS.join(', ')}.`,
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
  description: 'Lays pictures upon a picture, one after the other. What lies beyond its edges is cut off.',
  properties: [
    IMAGE_PROPERTY,
    requiredProperty('images', 'list[any]', 'The pictures to lay upon it.'),
    optionalProperty(
      'places',
      'list[dict[str,any]]',
      'For each picture, in their order: left and top in pixels, blend, opacity. What a place leaves open is as the properties say, at the top left.',
      { default: [] },
    ),
    optionalProperty('blend', createEnumType(...BLENDS), 'How colours meet.', { default: 'over' }),
    optionalProperty('opacity', 'float', 'From 0, where nothing is seen of a picture, to 1.', {
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
  description: 'Puts small versions of pictures in a grid on one, with their names below them.',
  properties: [
    requiredProperty('images', 'list[any]', 'The pictures, as the property image of other nodes takes one.'),
    optionalProperty(
      'names',
      'list[str]?',
      'What stands below each. Null: the names of the files; an empty list: nothing.',
    ),
    optionalProperty('columns', 'int', 'How many stand side by side.', { default: 4, min: 1, max: 20 }),
    optionalProperty('size', 'int', 'Of one small picture, in pixels: none is wider or higher.', {
      default: 200,
      min: 16,
      max: 1_000,
    }),
    optionalProperty('gap', 'int', 'Between them and around all, in pixels.', { default: 12, min: 0, max: 200 }),
    optionalProperty('text_size', 'int', 'Of the names, in pixels.', { default: 12, min: 6, max: 60 }),
    optionalProperty('background', 'str', 'The colour behind all.', { default: '#ffffff' }),
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
  requiredProperty('text', 'str', 'What is written. Lines break where there is no room.'),
  optionalProperty('size', 'float', 'Of the letters, in pixels.', { default: 32, min: 4, max: 1_000 }),
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
  optionalProperty('align', createEnumType('left', 'center', 'right'), 'Where shorter lines stand.', {
    default: 'left',
  }),
  optionalProperty(
    'gravity',
    createEnumType('top_left', 'top', 'top_right', 'left', 'center', 'right', 'bottom_left', 'bottom', 'bottom_right'),
    'Where the text stands in the picture.',
    { default: 'bottom' },
  ),
  optionalProperty('margin', 'int', 'How far from the edges it stands, in pixels.', {
    default: 10,
    min: 0,
    max: 4_000,
  }),
  optionalProperty('left', 'int?', 'Where it begins, in pixels from the left. Null: as gravity says.', {
    min: -FARTHEST_PIXELS,
    max: FARTHEST_PIXELS,
  }),
  optionalProperty('top', 'int?', 'Where it begins, in pixels from the top. Null: as gravity says.', {
    min: -FARTHEST_PIXELS,
    max: FARTHEST_PIXELS,
  }),
  optionalProperty('width', 'int?', 'Where lines break, in pixels. Null: at the other edge of the picture.', {
    min: 1,
    max: 16_384,
  }),
]

const EDGE_RANGE = { default: 0, min: 0, max: 16_384 }

export const imageComposeNodes: NodeType[] = [
  compositeNode,
  contactSheetNode,
  defineImageTransform('DrawText', 'Write on image', 'Writes a text on a picture.', TEXT_PROPERTIES),
  defineImageTransform('Trim', 'Trim image', 'Cuts off edges that have the colour of the top left pixel.', [
    optionalProperty('tolerance', 'int', 'How much colours may differ, of 255.', { default: 10, min: 0, max: 254 }),
  ]),
  defineImageTransform('Pad', 'Pad image', 'Adds edges to a picture.', [
    ...['left', 'right', 'top', 'bottom'].map((side) =>
      optionalProperty(side, 'int', `At the ${side}, in pixels.`, EDGE_RANGE),
    ),
    BACKGROUND_PROPERTY,
  ]),
]

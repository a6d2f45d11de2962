// image.*: resizes, crops, adjusts and converts pictures. Tasks of the same names in src/media do the work in a worker.
import type { NodeProperty, NodeType } from '../../engine/node-api/node-type.ts'
import { createEnumType } from '../../engine/node-api/values/type-metadata.ts'
import { createFileNeedsReader, readFileInput, replaceExtension, runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, requiredProperty, valueOutput } from '../shared/node-type-builders.ts'

/** The facts that an image task reports of the picture that it made. */
export interface MadeImage {
  readonly width: number
  readonly height: number
  readonly content_type: string
  readonly extension: string
}

/** An image value that holds its bytes until they are stored. */
export function toImageValue(
  bytes: Uint8Array,
  { width, height, content_type, extension }: MadeImage,
  name: string | null,
) {
  const given = replaceExtension(name, extension)
  return { type: 'image', data: bytes, content_type, ...(given === null ? {} : { name: given }), width, height }
}

export const IMAGE_PROPERTY = requiredProperty(
  'image',
  'any',
  'A picture: bytes, an image value, or the URL of an asset or a temporary file. If the file has several frames or pages, the first is used.',
)

export const FORMAT_PROPERTIES: NodeProperty[] = [
  optionalProperty(
    'format',
    { ...createEnumType('png', 'jpeg', 'webp', 'avif', 'gif', 'tiff'), optional: true },
    'The format to write. Null: the format of the picture, or PNG if that cannot be written.',
  ),
  optionalProperty(
    'quality',
    'int?',
    'From 1 to 100, for JPEG, WebP, AVIF and TIFF. Null: the default of the format; TIFF is then lossless.',
    { min: 1, max: 100 },
  ),
]

export const BACKGROUND_PROPERTY = optionalProperty(
  'background',
  'str',
  'The colour of areas that the picture does not cover, such as #ffffff or rgba(0,0,0,0).',
  { default: '#00000000' },
)

export const SIDE_RANGE = { min: 1, max: 16_384 }

/** Defines a node that makes one picture from one picture. */
export function defineImageTransform(
  name: string,
  title: string,
  description: string,
  properties: NodeProperty[],
): NodeType {
  const task = `image.${name.charAt(0).toLowerCase()}${name.slice(1)}`
  return {
    node_type: `image.${name}`,
    title,
    description,
    properties: [IMAGE_PROPERTY, ...properties, ...FORMAT_PROPERTIES],
    outputs: [valueOutput('image', 'image'), valueOutput('width', 'int'), valueOutput('height', 'int')],
    needs: createFileNeedsReader('image'),
    async run({ image, ...params }, context) {
      const file = await readFileInput(image, 'The image', context)
      const { files, value } = await runMediaTask(task, [file], params, context)
      const made = value as MadeImage
      return { image: toImageValue(files[0]!, made, file.name), width: made.width, height: made.height }
    },
  }
}

export const imageTransformNodes: NodeType[] = [
  defineImageTransform(
    'Resize',
    'Resize image',
    'Makes a picture larger or smaller. If only one side is set, the other keeps the proportions. Animations are kept in GIF and WebP.',
    [
      optionalProperty('width', 'int?', 'In pixels, or null.', SIDE_RANGE),
      optionalProperty('height', 'int?', 'In pixels, or null.', SIDE_RANGE),
      optionalProperty(
        'fit',
        createEnumType('inside', 'cover', 'contain', 'fill', 'outside'),
        'How the picture fits width and height: inside fits completely within them, cover fills them and cuts off the rest, contain adds a background, fill distorts, outside is at least as large.',
        { default: 'inside' },
      ),
      optionalProperty('enlarge', 'bool', 'Whether a smaller picture is made larger.', { default: true }),
      BACKGROUND_PROPERTY,
    ],
  ),
  defineImageTransform('Crop', 'Crop image', 'Cuts a part out of a picture.', [
    optionalProperty('left', 'int', 'Where the part begins, in pixels from the left.', { default: 0, min: 0 }),
    optionalProperty('top', 'int', 'Where the part begins, in pixels from the top.', { default: 0, min: 0 }),
    requiredProperty('width', 'int', 'In pixels.', SIDE_RANGE),
    requiredProperty('height', 'int', 'In pixels.', SIDE_RANGE),
  ]),
  defineImageTransform(
    'Rotate',
    'Rotate image',
    'Rotates a picture clockwise. The result is large enough for its corners.',
    [requiredProperty('angle', 'float', 'In degrees.', { min: -360, max: 360 }), BACKGROUND_PROPERTY],
  ),
  defineImageTransform('Flip', 'Flip image', 'Mirrors a picture.', [
    optionalProperty(
      'axis',
      createEnumType('horizontal', 'vertical'),
      'horizontal swaps left and right, vertical top and bottom.',
      {
        default: 'horizontal',
      },
    ),
  ]),
  defineImageTransform('Blur', 'Blur image', 'Softens a picture.', [
    optionalProperty('radius', 'float', 'The standard deviation of the blur, in pixels.', {
      default: 3,
      min: 0.3,
      max: 1000,
    }),
  ]),
  defineImageTransform('Sharpen', 'Sharpen image', 'Sharpens the edges of a picture.', [
    optionalProperty('radius', 'float', 'How far the edges reach, in pixels.', { default: 1, min: 0.1, max: 10 }),
  ]),
  defineImageTransform('Grayscale', 'Turn image gray', 'Turns the colours of a picture into shades of gray.', []),
  defineImageTransform('Adjust', 'Adjust image', 'Changes how bright and colourful a picture is.', [
    optionalProperty('brightness', 'float', '1 keeps it, 2 is twice as bright.', { default: 1, min: 0, max: 10 }),
    optionalProperty('saturation', 'float', '1 keeps it, 0 removes all colours.', { default: 1, min: 0, max: 10 }),
    optionalProperty('hue', 'int', 'Rotates the hue of all colours, in degrees.', { default: 0, min: -360, max: 360 }),
  ]),
  defineImageTransform(
    'Convert',
    'Convert image',
    'Converts a picture to another format. Its metadata is removed, except its colour profile. Animations are kept in GIF and WebP.',
    [
      optionalProperty(
        'frame',
        'int?',
        'The frame or page to convert, from 1, if the file has several, such as a TIFF scan. Null: the first, or all frames of an animation.',
        { min: 1, max: 1_000 },
      ),
    ],
  ),
]

// image.*: pictures from where they are kept and to there, and what is known of them. Metadata says nothing of the place where a picture was taken.
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { folderProperty, saveFileAsAsset } from '../asset-save-list-nodes.ts'
import { createFileNeedsReader, readFileInput, replaceExtension, runMediaTask } from '../shared/file-inputs.ts'
import { optionalProperty, valueOutput } from '../shared/node-type-builders.ts'
import { FORMAT_PROPERTIES, IMAGE_PROPERTY, type MadeImage } from './transform-nodes.ts'

interface ImageFacts {
  readonly width: number
  readonly height: number
  readonly format: string
  readonly content_type: string
}

const HISTOGRAM_CHANNELS = ['red', 'green', 'blue', 'alpha', 'luminance']

export const imageFileNodes: NodeType[] = [
  {
    node_type: 'image.Load',
    title: 'Load image',
    description:
      'Reads a picture from where it is kept, and says what it is. Its bytes stay as they are, with what its camera wrote: image.Save and image.Convert leave out where it was taken.',
    properties: [IMAGE_PROPERTY],
    outputs: [
      valueOutput('image', 'image'),
      valueOutput('width', 'int'),
      valueOutput('height', 'int'),
      valueOutput('format', 'str'),
      valueOutput('name', 'str?'),
    ],
    needs: createFileNeedsReader('image'),
    async run({ image }, context) {
      const file = await readFileInput(image, 'The image', context)
      const { value } = await runMediaTask('image.metadata', [file], {}, context)
      const { width, height, format, content_type } = value as ImageFacts
      const named = file.name === null ? {} : { name: file.name }
      const loaded = { type: 'image', data: file.bytes, content_type, ...named, width, height }
      return { image: loaded, width, height, format, name: file.name }
    },
  },
  {
    node_type: 'image.Save',
    title: 'Save image',
    description:
      'Keeps a picture as an asset of whoever runs the workflow, as asset.Save does. Its bytes stay as they are where neither a format nor a quality is asked for; but it is written anew where its camera wrote something into it, such as the place, which is left out.',
    properties: [
      IMAGE_PROPERTY,
      optionalProperty(
        'name',
        'str',
        'The name of the file. Empty: that of the picture, else its id. Its ending follows the format.',
        {
          default: '',
        },
      ),
      folderProperty('that it is put into. Null: the top level.'),
      ...FORMAT_PROPERTIES,
    ],
    outputs: [valueOutput('asset', 'any'), valueOutput('width', 'int'), valueOutput('height', 'int')],
    effect: true,
    needs: createFileNeedsReader('image'),
    async run({ image, name, folder, ...params }, context) {
      const file = await readFileInput(image, 'The image', context)
      const { files, value } = await runMediaTask('image.save', [file], params, context)
      const { width, height, content_type, extension } = value as MadeImage
      const named = replaceExtension((name as string) || file.name, extension)
      const asset = await saveFileAsAsset(
        { bytes: files[0]!, content_type, name: null },
        { name: named ?? '', content_type, folder: folder as string | null },
        context,
      )
      return { asset, width, height }
    },
  },
  {
    node_type: 'image.Metadata',
    title: 'Image metadata',
    description:
      'Tells what a picture is: its format, size, frames, channels, depth, colour_space, density, orientation, and as exif what its camera wrote in texts and numbers. Where it was taken is left out.',
    properties: [IMAGE_PROPERTY],
    outputs: [
      valueOutput('width', 'int'),
      valueOutput('height', 'int'),
      valueOutput('format', 'str'),
      valueOutput('has_alpha', 'bool'),
      valueOutput('metadata', 'dict[str,any]'),
    ],
    needs: createFileNeedsReader('image'),
    async run({ image }, context) {
      const { value } = await runMediaTask(
        'image.metadata',
        [await readFileInput(image, 'The image', context)],
        {},
        context,
      )
      const metadata = value as ImageFacts & { has_alpha: boolean }
      const { width, height, format, has_alpha } = metadata
      return { width, height, format, has_alpha, metadata }
    },
  },
  {
    node_type: 'image.Histogram',
    title: 'Image histogram',
    description:
      'Counts for each channel how many pixels have each of its 256 levels. The luminance is that of Rec. 709.',
    properties: [IMAGE_PROPERTY],
    outputs: [...HISTOGRAM_CHANNELS.map((name) => valueOutput(name, 'list[int]')), valueOutput('pixels', 'int')],
    needs: createFileNeedsReader('image'),
    async run({ image }, context) {
      const { value } = await runMediaTask(
        'image.histogram',
        [await readFileInput(image, 'The image', context)],
        {},
        context,
      )
      return value as Record<string, unknown>
    },
  },
]

import * as z from 'zod'
import { orNull, Success } from '../common.ts'
import { ArchiveFormat, FolderListing, HomeResponse, SubdirectoryPage } from '../files.ts'
import { route } from '../route.ts'
import { limit, pageId, params } from './shared.ts'

const tag = 'Files'
const path = z.string()
const include_hidden = z.boolean().default(false)
const bytes = { raw: 'application/octet-stream' } as const

export const fileRoutes = {
  uploadFile: route({
    method: 'POST',
    path: '/api/file/upload',
    tag,
    summary: 'Write a file; its parents are made, and an older one is replaced',
    access: 'caller',
    confined: true,
    query: z.object({ path }),
    upload: 'file',
    responses: { 200: Success },
    errors: ['path_not_absolute', 'permission_denied', 'body_too_large', 'storage_full'],
  }),
  downloadFile: route({
    method: 'GET',
    path: '/api/file/download',
    tag,
    summary: 'Read a file, or a range of it',
    access: 'caller',
    confined: true,
    query: z.object({ path }),
    headers: z.object({
      range: z.string().optional(),
      'if-none-match': z.string().optional(),
      'if-range': z.string().optional(),
    }),
    responses: { 200: bytes, 206: bytes },
    errors: ['path_not_absolute', 'file_not_found', 'permission_denied'],
  }),
  createDirectory: route({
    method: 'POST',
    path: '/api/file/create_directory',
    tag,
    summary: 'Make a directory and its parents; it may be there already',
    access: 'caller',
    confined: true,
    query: z.object({ path }),
    responses: { 200: Success },
    errors: ['path_not_absolute', 'permission_denied', 'storage_full'],
  }),
  getHome: route({
    method: 'GET',
    path: '/api/file/home',
    tag,
    summary: 'Tell the home directory, and where a file browser may start',
    access: 'caller',
    confined: true,
    query: z.object({ include_hidden }),
    responses: { 200: HomeResponse },
  }),
  searchSubdirectories: route({
    method: 'GET',
    path: '/api/file/search_subdirs',
    tag,
    summary: 'List the directories in a directory, by name; links are left out',
    access: 'caller',
    confined: true,
    query: z.object({ path, page_id: pageId, limit, include_hidden }),
    responses: { 200: SubdirectoryPage },
    errors: ['path_not_absolute', 'directory_not_found', 'permission_denied'],
  }),
  listFolder: route({
    method: 'GET',
    path: '/api/file/list',
    tag,
    summary: 'List what is in a directory, hidden ones too: directories first, then by name',
    access: 'caller',
    confined: true,
    query: z.object({ path }),
    responses: { 200: FolderListing },
    errors: ['path_not_absolute', 'directory_not_found', 'permission_denied'],
  }),
  downloadTrajectory: route({
    method: 'GET',
    path: '/api/file/download-trajectory/{conversation_id}',
    tag,
    summary: 'Export a conversation as a zip file: what it is, and its events',
    access: 'caller',
    confined: true,
    params,
    responses: { 200: bytes },
    errors: ['conversation_not_found'],
  }),
  downloadArchive: route({
    method: 'GET',
    path: '/api/file/archive',
    tag,
    summary: 'Pack a directory: as a patch against its repository, or whole',
    access: 'caller',
    confined: true,
    query: z.object({
      path,
      format: ArchiveFormat.default('git-delta'),
      base_ref: orNull(z.string().max(1024)),
      use_default_excludes: z.boolean().default(true),
      exclude: orNull(z.array(z.string().max(1024)).max(100)),
    }),
    responses: { 200: bytes },
    errors: ['path_not_absolute', 'directory_not_found', 'bad_request'],
  }),
}

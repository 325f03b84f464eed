import * as z from 'zod'
import { dateTimeOut, orNull } from './common.ts'

export const FileBrowserEntry = z.object({ label: z.string(), path: z.string() }).meta({ id: 'FileBrowserEntry' })
export type FileBrowserEntry = z.output<typeof FileBrowserEntry>

export const HomeResponse = z
  .object({
    home: z.string(),
    favorites: z.array(FileBrowserEntry).default([]),
    locations: z.array(FileBrowserEntry).default([]),
  })
  .meta({ id: 'HomeResponse' })
export type HomeResponse = z.output<typeof HomeResponse>

export const SubdirectoryEntry = z.object({ name: z.string(), path: z.string() }).meta({ id: 'SubdirectoryEntry' })
export type SubdirectoryEntry = z.output<typeof SubdirectoryEntry>

export const SubdirectoryPage = z
  .object({ items: z.array(SubdirectoryEntry), next_page_id: orNull(z.string()) })
  .meta({ id: 'SubdirectoryPage' })
export type SubdirectoryPage = z.output<typeof SubdirectoryPage>

export const FolderEntry = z
  .object({
    name: z.string(),
    /** Of a link, what it leads to; `other` when that is nothing, or out of reach. */
    kind: z.enum(['file', 'directory', 'other']),
    link: z.boolean(),
    /** Of files. */
    size: z.int().nullable(),
    /** Null when it is no date of a calendar: a file may say so. */
    modified: dateTimeOut.nullable(),
  })
  .meta({ id: 'FolderEntry' })
export type FolderEntry = z.output<typeof FolderEntry>

export const FolderListing = z
  .object({
    path: z.string(),
    items: z.array(FolderEntry),
    /** There is more than is listed. */
    cut: z.boolean(),
  })
  .meta({ id: 'FolderListing' })
export type FolderListing = z.output<typeof FolderListing>

export const ArchiveFormat = z.enum(['git-delta', 'tar.gz'])
export type ArchiveFormat = z.output<typeof ArchiveFormat>

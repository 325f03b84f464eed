import { Fault, fault } from '../api/errors.ts'
import {
  MAX_WORKSPACES,
  type WorkspaceItem,
  type WorkspaceParentItem,
  type WorkspacesListResponse,
} from '../api/workspaces.ts'
import { StoredDocument } from '../settings/stored-document.ts'
import type { Store } from '../store/store.ts'

/** The folders that people picked. They are only remembered here; whether a sandbox may see one is decided elsewhere. */
export class Workspaces {
  readonly #document: StoredDocument<WorkspacesListResponse>
  readonly #onChange: (paths: string[]) => void

  /** `onChange` is told all workspaces' paths after each change. */
  constructor(store: Store, onChange: (paths: string[]) => void = () => undefined) {
    this.#document = new StoredDocument(store, 'workspaces', { workspaces: [], workspaceParents: [] })
    this.#onChange = onChange
  }

  async list(): Promise<WorkspacesListResponse> {
    try {
      return await this.#document.read()
    } catch (error) {
      if (error instanceof Fault && error.code === 'record_damaged') throw fault('workspaces_damaged')
      throw error
    }
  }

  async paths(): Promise<string[]> {
    return (await this.list()).workspaces.map(({ path }) => path)
  }

  add(items: WorkspaceItem[]): Promise<WorkspacesListResponse> {
    return this.#update(list => ({ ...list, workspaces: joined(list.workspaces, items) }))
  }

  addParents(items: WorkspaceParentItem[]): Promise<WorkspacesListResponse> {
    return this.#update(list => ({ ...list, workspaceParents: joined(list.workspaceParents, items) }))
  }

  async remove(path: string): Promise<void> {
    await this.#update(list => {
      const workspaces = list.workspaces.filter(item => item.path !== path)
      if (workspaces.length === list.workspaces.length) throw fault('workspace_not_found')
      return { ...list, workspaces }
    })
  }

  async removeParent(path: string): Promise<void> {
    await this.#update(list => {
      const workspaceParents = list.workspaceParents.filter(item => item.path !== path)
      if (workspaceParents.length === list.workspaceParents.length) throw fault('workspace_parent_not_found')
      return { ...list, workspaceParents }
    })
  }

  async #update(change: (list: WorkspacesListResponse) => WorkspacesListResponse): Promise<WorkspacesListResponse> {
    const list = await this.#document.update(change)
    this.#onChange(list.workspaces.map(({ path }) => path))
    return list
  }
}

/** The first of a path stays. */
function joined<T extends { path: string }>(saved: T[], items: T[]): T[] {
  const byPath = new Map(saved.map(item => [item.path, item]))
  for (const item of items) if (!byPath.has(item.path)) byPath.set(item.path, item)
  if (byPath.size > MAX_WORKSPACES) throw fault('invalid_request', `No more than ${MAX_WORKSPACES} can be saved`)
  return [...byPath.values()]
}

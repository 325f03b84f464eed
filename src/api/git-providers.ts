import * as z from 'zod'
import { page } from './common.ts'

/** Whom repositories are fetched from. */
export const ProviderType = z
  .enum(['github', 'gitlab', 'bitbucket', 'bitbucket_data_center', 'forgejo', 'azure_devops', 'enterprise_sso'])
  .meta({ id: 'ProviderType' })
export type ProviderType = z.output<typeof ProviderType>

/** Whose token it is, as the provider knows them. */
export const UserGitInfo = z
  .object({
    id: z.string(),
    login: z.string(),
    avatar_url: z.string(),
    company: z.string().nullable(),
    name: z.string().nullable(),
    email: z.string().nullable(),
  })
  .meta({ id: 'UserGitInfo' })
export type UserGitInfo = z.output<typeof UserGitInfo>

export const OwnerType = z.enum(['user', 'organization']).meta({ id: 'OwnerType' })

export const Repository = z
  .object({
    id: z.string(),
    full_name: z.string(),
    git_provider: ProviderType,
    is_public: z.boolean(),
    stargazers_count: z.int().nullable(),
    /** Always null: pages are told by `next_page_id`. */
    link_header: z.string().nullable(),
    pushed_at: z.string().nullable(),
    owner_type: OwnerType.nullable(),
    main_branch: z.string().nullable(),
  })
  .meta({ id: 'Repository' })
export type Repository = z.output<typeof Repository>
export const RepositoryPage = page('RepositoryPage', Repository)

export const Branch = z
  .object({
    name: z.string(),
    commit_sha: z.string(),
    protected: z.boolean(),
    last_push_date: z.string().nullable(),
  })
  .meta({ id: 'Branch' })
export type Branch = z.output<typeof Branch>
export const BranchPage = page('BranchPage', Branch)

export const InstallationPage = page('InstallationPage', z.string())

export const SortOrder = z
  .enum(['stars-desc', 'stars-asc', 'forks-desc', 'forks-asc', 'updated-desc', 'updated-asc'])
  .meta({ id: 'SortOrder' })
export type SortOrder = z.output<typeof SortOrder>

export const TaskType = z
  .enum(['MERGE_CONFLICTS', 'FAILING_CHECKS', 'UNRESOLVED_COMMENTS', 'OPEN_ISSUE', 'OPEN_PR', 'CREATE_MICROAGENT'])
  .meta({ id: 'TaskType' })
export type TaskType = z.output<typeof TaskType>

export const SuggestedTask = z
  .object({
    git_provider: ProviderType,
    task_type: TaskType,
    repo: z.string(),
    issue_number: z.int(),
    title: z.string(),
  })
  .meta({ id: 'SuggestedTask' })
export type SuggestedTask = z.output<typeof SuggestedTask>
export const SuggestedTaskPage = page('SuggestedTaskPage', SuggestedTask)

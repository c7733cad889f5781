/*
 * Licensed under the Apache License, Version 2.0 (the "License"); you may not use this file except in compliance with
 * the License. You may obtain a copy of the License at http://www.apache.org/licenses/LICENSE-2.0
 */
package org.memopensearch.smartcn;

import java.util.Map;
import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.cn.smart.HMMChineseTokenizer;
import org.apache.lucene.analysis.cn.smart.SmartChineseAnalyzer;
import org.opensearch.index.analysis.AnalyzerProvider;
import org.opensearch.index.analysis.AnalyzerScope;
import org.opensearch.index.analysis.PreBuiltAnalyzerProvider;
import org.opensearch.index.analysis.TokenizerFactory;
import org.opensearch.indices.analysis.AnalysisModule.AnalysisProvider;
import org.opensearch.plugins.AnalysisPlugin;
import org.opensearch.plugins.Plugin;

/** Offers Lucene's segmenter for simplified Chinese under the names of OpenSearch's own analysis-smartcn plugin. */
public final class SmartcnPlugin extends Plugin implements AnalysisPlugin {
    @Override
    public Map<String, AnalysisProvider<TokenizerFactory>> getTokenizers() {
        return Map.of(
                "smartcn_tokenizer",
                (indexSettings, environment, name, settings) ->
                        TokenizerFactory.newFactory(name, HMMChineseTokenizer::new));
    }

    @Override
    public Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> getAnalyzers() {
        return Map.of(
                "smartcn",
                (indexSettings, environment, name, settings) ->
                        new PreBuiltAnalyzerProvider(name, AnalyzerScope.INDICES, new SmartChineseAnalyzer()));
    }
}
